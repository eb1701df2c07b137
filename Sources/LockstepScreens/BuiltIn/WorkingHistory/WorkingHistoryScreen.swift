import LockstepCollections
import LockstepReactor

extension ScreenDeclaration {
  /// `workingHistory`: the form for a user's company and position.
  static func workingHistory(_ upstream: any ProfileUpstream) -> ScreenDeclaration {
    user(
      "workingHistory",
      follows: ["profile"],
      actions: [
        ActionCase("setCompanyName", .typed("value")) { .setCompanyName($0) },
        ActionCase("setPosition", .typed("value")) { .setPosition($0) },
        ActionCase("save") { .save },
        ActionCase("answer", .text("prompt"), .text("choice", oneOf: WorkingHistoryReactor.choices)) {
          .answer(prompt: $0, choice: $1)
        },
      ],
      state: WorkingHistoryReactor.format
    ) { _, user in WorkingHistoryReactor(user: user, upstream: upstream) }
  }
}

extension WorkingHistoryReactor {
  static let choices = Choice.allCases.map(\.rawValue)

  static let format: ValueFormat<State> = {
    let prompt = ValueFormat<Prompt>(
      .member("id", .text, \.id),
      .member("title", .text) { _ in "The profile was not saved" },
      .member("message", .text, \.message),
      .member("choices", .list(of: .text(oneOf: choices))) { _ in choices }
    )
    return ValueFormat(
      .member("companyName", .text, \.companyName.text),
      .member("position", .text, \.position.text),
      .member("validatedCompanyName", .validation, \.companyName.validation),
      .member("validatedPosition", .validation, \.position.validation),
      .member("saveEnabled", .flag, \.saveEnabled),
      .member("isLoading", .flag, \.isLoading),
      .optional("prompt", prompt, \.prompt),
      .member("saved", .count, \.saved)
    )
  }()
}
