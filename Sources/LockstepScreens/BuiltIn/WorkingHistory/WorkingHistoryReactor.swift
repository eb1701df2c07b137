import LockstepCollections
import LockstepModules
import LockstepReactor

/// The form for a user's company and position.
///
/// A field shows the profile's value until the user types in the field, and again after a save. A
/// save sends the profile to the upstream first, and then changes it in the user's state. A new
/// save cancels an older one. If a save fails, the screen asks whether to retry.
struct WorkingHistoryReactor: Reactor {
  struct State: Sendable, Equatable {
    var companyName = Input()
    var position = Input()
    var isLoading = false
    var prompt: Prompt?
    /// How many saves succeeded.
    var saved = 0
    /// How many saves were started.
    @HiddenField var saves = 0

    var saveEnabled: Bool { [companyName.validation, position.validation].areAllValid }
  }

  struct Input: Sendable, Equatable {
    var text = ""
    @HiddenField var isTyped = false

    var validation: ValidationResult { ProfileReactor.validation(of: text) }
  }

  /// A question about a save that failed.
  struct Prompt: Sendable, Equatable {
    let id: String
    let message: String
  }

  enum Choice: String, Sendable, CaseIterable {
    case retry
    case cancel
  }

  struct PromptAnswer: Sendable, Equatable {
    let prompt: String
    let choice: Choice
  }

  enum Action: Sendable {
    case setCompanyName(String)
    case setPosition(String)
    case save
    case answer(prompt: String, choice: String)
  }

  enum Mutation: Sendable {
    case companyName(String)
    case position(String)
    case profile(UserSnapshot)
    case saving
    case failed(Prompt)
    case answered(Choice)
    /// The saved texts, as typed, and the profile after the save.
    case saved(companyName: String, position: String, UserSnapshot)
  }

  let user: ScreenUser
  let upstream: any ProfileUpstream
  /// The last answer to a prompt. A save waits for the answer to its own prompt.
  private let answers = Latest<PromptAnswer?>(nil)

  var initialState: State {
    var state = State()
    Self.reduce(&state, .profile(user.state))
    return state
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setCompanyName(let text): return .just(.companyName(text))
    case .setPosition(let text): return .just(.position(text))
    case .save:
      guard state.saveEnabled else {
        return .failure(Refusal.conflict("saveEnabled is false. validatedCompanyName and validatedPosition show why."))
      }
      return .concat(.just(.saving), .run { try await save(state, $0) })
    case .answer(let prompt, let text):
      guard prompt == state.prompt?.id else {
        return .failure(
          Refusal.conflict("This is not the current prompt. It was answered, or a newer prompt replaced it.")
        )
      }
      guard let choice = Choice(rawValue: text) else {
        let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        return .failure(Refusal.invalid("/choice", "It must be one of \(choices)."))
      }
      return .concat(
        .just(.answered(choice)),
        .run { [answers] _ in answers.publish(PromptAnswer(prompt: prompt, choice: choice)) }
      )
    }
  }

  func policy(for action: Action) -> EffectPolicy {
    if case .save = action { .latest("save") } else { .all }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .companyName(let text): state.companyName = Input(text: text, isTyped: true)
    case .position(let text): state.position = Input(text: text, isTyped: true)
    case .profile(let user): state.follow(user)
    case .saving:
      state.saves += 1
      state.isLoading = true
      state.prompt = nil
    case .failed(let prompt):
      state.isLoading = false
      state.prompt = prompt
    case .answered(let choice):
      state.isLoading = choice == .retry
      state.prompt = nil
    case .saved(let companyName, let position, let user):
      state.isLoading = false
      state.saved += 1
      // A field whose text was changed during the save keeps that text.
      if state.companyName.text == companyName { state.companyName.isTyped = false }
      if state.position.text == position { state.position.isTyped = false }
      state.follow(user)
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(user.states) { .profile($0) }
  }

  private func save(_ state: State, _ emit: Emitter<Mutation>) async throws {
    let (companyName, position) = (state.companyName.text, state.position.text)
    let profile = OutgoingProfile(
      user: user.id,
      companyName: companyName.trimmingWhitespace(),
      position: position.trimmingWhitespace()
    )
    let prompt = SavePrompt(save: state.saves + 1, answers: answers, emit: emit)
    let isSaved: Void? = try await retryWhenConfirmed(prompt) {
      try await upstream.send(profile)
      try await user.perform("profile", "save", profile.fields)
    }
    if isSaved != nil { try await emit(.saved(companyName: companyName, position: position, user.state)) }
  }
}

extension WorkingHistoryReactor.State {
  /// Copies the profile into fields without typed text.
  fileprivate mutating func follow(_ user: UserSnapshot) {
    if !companyName.isTyped { companyName.text = user.map("profile")["companyName"]?.json.stringValue ?? "" }
    if !position.isTyped { position.text = user.map("profile")["position"]?.json.stringValue ?? "" }
  }
}

/// Asks on the screen whether to try a save again.
private struct SavePrompt: RetryPrompt {
  let save: Int
  let answers: Latest<WorkingHistoryReactor.PromptAnswer?>
  let emit: Emitter<WorkingHistoryReactor.Mutation>
  let attempts = Latest(0)

  func confirmRetry(after error: any Error) async -> Bool {
    attempts.publish(attempts.value + 1)
    let id = "\(save).\(attempts.value)"
    // A cancelled save asks nothing.
    guard (try? await emit(.failed(.init(id: id, message: Self.message(for: error))))) != nil else { return false }
    for await answer in answers.values where answer?.prompt == id { return answer?.choice == .retry }
    return false
  }

  /// Never called, because every error may be retried.
  func inform(of error: any Error) async {}

  private static func message(for error: any Error) -> String {
    switch error {
    case let failure as UpstreamError: failure.message
    case let failure as StateChangeError: failure.message
    default: "Something went wrong."
    }
  }
}
