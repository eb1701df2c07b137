import LockstepCollections
import LockstepReactor
import LockstepScreens

extension ScreenDeclaration {
  /// `workingHistory`: the form for a user's company and position.
  static func workingHistory(
    reactor: @escaping @Sendable (ScreenContext, ScreenUser) -> WorkingHistoryReactor
  ) -> ScreenDeclaration {
    user(
      "workingHistory",
      follows: ["profile"],
      actions: [
        ActionCase("setCompanyName", .typed("value")) { .setCompanyName($0) },
        ActionCase("setPosition", .typed("value")) { .setPosition($0) },
        ActionCase("save") { .save },
        ActionCase("answer", .index("prompt"), .text("choice", oneOf: WorkingHistoryReactor.choices)) {
          .answer(prompt: $0, choice: $1)
        },
        ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: WorkingHistoryReactor.format,
      reactor: reactor
    )
  }
}

extension WorkingHistoryReactor {
  static let choices = Choice.allCases.map(\.rawValue)

  static let format = ValueFormat<State>(
    .member("companyName", .text, \.companyName.text),
    .member("position", .text, \.position.text),
    .member("validatedCompanyName", .validation, \.validatedCompanyName),
    .member("validatedPosition", .validation, \.validatedPosition),
    .member("saveEnabled", .flag, \.saveEnabled),
    .member("isLoading", .flag, \.isLoading),
    .optional("progress", .text) { $0.isLoading ? ScreenText.saving[$0.language] : nil },
    .pulse("prompt", prompt, \.$prompt),
    .member("saved", .count, \.saved),
    .member("isUpstreamReachable", .flag, \.isUpstreamReachable)
  )

  private static let prompt = ValueFormat<Prompt>(
    .member("title", .text, \.title),
    .member("message", .text, \.message),
    .member("choices", .list(of: .text(oneOf: choices))) { $0.choices.map(\.rawValue) },
    .member("choiceTexts", choiceTexts) { $0 }
  )

  /// A text for each choice of the prompt, by the choice's id.
  private static let choiceTexts = ValueFormat<Prompt>(
    .optional("retry", .text) { $0.choices.contains(.retry) ? ScreenText.retry[$0.language] : nil },
    .optional("cancel", .text) { $0.choices.contains(.cancel) ? ScreenText.cancel[$0.language] : nil }
  )
}
