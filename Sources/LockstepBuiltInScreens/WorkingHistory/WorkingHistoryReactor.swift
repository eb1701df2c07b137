import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepScreens

/// The form for a user's company and position.
///
/// A field shows the profile's value until the user types in the field, and again after a save. A
/// save sends the profile to the upstream first, and then changes it in the user's state. A new
/// save cancels an older one. If a save fails, the screen asks whether to retry.
struct WorkingHistoryReactor: Reactor {
  struct State: Sendable, Equatable {
    let language: ScreenLanguage
    var companyName = Input()
    var position = Input()
    var isLoading = false
    @Pulse var prompt: Prompt?
    /// How many saves succeeded.
    var saved = 0
    var isUpstreamReachable = true
    /// Whether a save or a retry has begun, and the indicator does not show it yet.
    @HiddenField var isStarting = false
    /// Whether a save has begun, and its end was not shown.
    @HiddenField var isSaving = false
    /// Whether the client shows the screen.
    @HiddenField var isActive = true
    @HiddenField var validators: (companyName: Validator<String>, position: Validator<String>)

    var validatedCompanyName: ValidationResult { validators.companyName.validate(companyName.text) }
    var validatedPosition: ValidationResult { validators.position.validate(position.text) }
    var saveEnabled: Bool { [validatedCompanyName, validatedPosition].areAllValid }

    init(screen: ScreenContext, validators: ScreenValidators) {
      language = ScreenLanguage(of: screen)
      self.validators = (validators.companyName(screen), validators.position(screen))
    }
  }

  struct Input: Sendable, Equatable {
    var text = ""
    @HiddenField var isTyped = false
  }

  /// A question about a save that failed.
  struct Prompt: Sendable, Equatable {
    /// The language of the choices' texts.
    let language: ScreenLanguage
    let title: String
    let message: String
    let choices: [Choice]
  }

  enum Choice: String, Sendable, CaseIterable {
    case retry
    case cancel
  }

  struct PromptAnswer: Sendable, Equatable {
    /// How many prompts had been shown, with this one.
    let prompt: Int
    let choice: Choice
  }

  enum Action: Sendable {
    case setCompanyName(String)
    case setPosition(String)
    case save
    case answer(prompt: Int, choice: String)
    case setActive(Bool)
  }

  enum Mutation: Sendable {
    case companyName(String)
    case position(String)
    case profile(UserSnapshot)
    case saving
    case busy(Bool)
    case reachable(Bool)
    case failed(Prompt)
    case answered(Choice)
    /// The saved texts, as typed, and the profile after the save.
    case saved(companyName: String, position: String, UserSnapshot)
    case active(Bool)
  }

  let screen: ScreenContext
  let user: ScreenUser
  let upstream: any ProfileUpstream
  let validators: ScreenValidators
  /// Makes the idempotency key of a save.
  let newKey: @Sendable () -> String
  /// Busy while saves run, also older ones that were cancelled and have not ended.
  private let activity = ActivityIndicator()
  /// The last answer to a prompt. A save waits for the answer to its own prompt.
  private let answers = Latest<PromptAnswer?>(nil)

  init(
    screen: ScreenContext,
    user: ScreenUser,
    upstream: any ProfileUpstream,
    validators: ScreenValidators,
    newKey: @escaping @Sendable () -> String = { SaveKey.random() }
  ) {
    (self.screen, self.user, self.upstream) = (screen, user, upstream)
    (self.validators, self.newKey) = (validators, newKey)
  }

  var initialState: State {
    var state = State(screen: screen, validators: validators)
    state.isUpstreamReachable = upstream.reachability.current == .reachable
    state.follow(user.state)
    return state
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setActive(let isActive): return .just(.active(isActive))
    case _ where !state.isActive: return .failure(Refusal.inactive)
    case .setCompanyName(let text): return .just(.companyName(text))
    case .setPosition(let text): return .just(.position(text))
    case .save:
      guard state.saveEnabled else {
        return .failure(Refusal.conflict("saveEnabled is false. validatedCompanyName and validatedPosition show why."))
      }
      return .concat(.just(.saving), .run { try await save(state, $0) })
    case .answer(let id, let text):
      guard let prompt = state.prompt, id == state.$prompt.fired else {
        return .failure(
          Refusal.conflict("This is not the current prompt. It was answered, or a newer prompt replaced it.")
        )
      }
      guard let choice = prompt.choices.first(where: { $0.rawValue == text }) else {
        let choices = prompt.choices.map(\.rawValue).joined(separator: ", ")
        return .failure(Refusal.invalid("/choice", "It must be one of \(choices)."))
      }
      return .concat(
        .just(.answered(choice)),
        .run { [answers] _ in answers.publish(PromptAnswer(prompt: id, choice: choice)) }
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
      (state.isLoading, state.isStarting, state.isSaving) = (true, true, true)
      state.$prompt.clear()
    case .busy(let isBusy):
      if isBusy { state.isStarting = false }
      // The indicator may report the begin of a save after the screen has shown its end.
      if !state.isStarting { state.isLoading = isBusy && state.isSaving }
    case .reachable(let isReachable): state.isUpstreamReachable = isReachable
    case .failed(let prompt):
      (state.isLoading, state.isStarting, state.isSaving) = (false, false, false)
      state.prompt = prompt
    case .answered(let choice):
      let retries = choice == .retry
      (state.isLoading, state.isStarting, state.isSaving) = (retries, retries, retries)
      state.$prompt.clear()
    case .saved(let companyName, let position, let user):
      (state.isLoading, state.isStarting, state.isSaving) = (false, false, false)
      state.saved += 1
      // A field whose text was changed during the save keeps that text.
      if state.companyName.text.utf8.elementsEqual(companyName.utf8) { state.companyName.isTyped = false }
      if state.position.text.utf8.elementsEqual(position.utf8) { state.position.isTyped = false }
      state.follow(user)
    case .active(let isActive): state.isActive = isActive
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(user.states) { .profile($0) }
      .merging(activity.values) { [activity] _ in .busy(activity.isBusy) }
      // All open forms show it, and any user's save can change it.
      .merging(upstream.reachability.values, atMostEvery: .seconds(1), on: screen.clock) {
        .reachable($0 == .reachable)
      }
  }

  /// Hides states while the client does not show the screen.
  func transform(state: Flow<State>) -> Flow<State> { state.filter(\.isActive) }

  /// Saves the profile of `state`. Every attempt sends the same key.
  private func save(_ state: State, _ emit: Emitter<Mutation>) async throws {
    let (companyName, position) = (state.companyName.text, state.position.text)
    let profile = OutgoingProfile(
      user: user.id,
      companyName: state.validators.companyName.normalise(companyName),
      position: state.validators.position.normalise(position),
      idempotencyKey: newKey()
    )
    let prompt = SavePrompt(language: state.language, shown: state.$prompt.fired, answers: answers, emit: emit)
    _ = try await retryWhenConfirmed(prompt, canRetry: SavePrompt.canRetry) {
      try await activity.track {
        do {
          let accepted = try await upstream.send(profile)
          try await user.perform("profile", "save", accepted.payload(insteadOf: profile))
          try await emit(.saved(companyName: companyName, position: position, user.state))
        } catch {
          // A cancelled save shows nothing.
          if error is CancellationError || Task.isCancelled { throw CancellationError() }
          report(error)
          try await prompt.show(error)
          throw error
        }
      }
    }
  }

  private func report(_ error: any Error) {
    switch error {
    case let error as UpstreamError where error.kind != .cancelled: screen.report(error, in: "upstream")
    case let error as StateChangeError where error.mayPass: screen.report(error, in: "profile")
    default: break
    }
  }
}

extension WorkingHistoryReactor.State {
  /// Copies the profile into fields without typed text.
  fileprivate mutating func follow(_ user: UserSnapshot) {
    let profile = user.map("profile")
    if !companyName.isTyped { companyName.text = profile["companyName"]?.json.stringValue ?? "" }
    if !position.isTyped { position.text = profile["position"]?.json.stringValue ?? "" }
  }
}

/// Asks on the screen whether to try a save again.
private struct SavePrompt: RetryPrompt {
  let language: ScreenLanguage
  /// How many prompts had been shown when the save began. Until a newer save cancels it, only this
  /// save shows prompts.
  let shown: Int
  let answers: Latest<WorkingHistoryReactor.PromptAnswer?>
  let emit: Emitter<WorkingHistoryReactor.Mutation>
  let attempts = Latest(0)

  static func canRetry(_ error: any Error) -> Bool {
    switch error {
    case let error as UpstreamError: error.mayPass
    case let error as StateChangeError: error.mayPass
    default: true
    }
  }

  func show(_ error: any Error) async throws {
    attempts.publish(attempts.value + 1)
    let choices: [WorkingHistoryReactor.Choice] = Self.canRetry(error) ? [.retry, .cancel] : [.cancel]
    let title = ScreenText.notSaved[language]
    try await emit(.failed(.init(language: language, title: title, message: text(of: error), choices: choices)))
  }

  func confirmRetry(after error: any Error) async -> Bool {
    let id = shown + attempts.value
    for await answer in answers.values where answer?.prompt == id { return answer?.choice == .retry }
    return false
  }

  /// The prompt is shown already.
  func inform(of error: any Error) async {}

  private func text(of error: any Error) -> String {
    switch error {
    case let error as UpstreamError: error.text(language)
    case let error as StateChangeError: error.text(language)
    default: ScreenText.somethingWrong[language]
    }
  }
}

extension AcceptedProfile {
  /// The payload of the action `save` of the module `profile`: the texts that the upstream has
  /// accepted. A text that is missing or not valid is as it was sent.
  fileprivate func payload(insteadOf sent: OutgoingProfile) -> JSON {
    func text(_ accepted: String?, _ sent: String?) -> JSON {
      if let accepted, Validator.profileText.validate(accepted).isValid { return .string(accepted) }
      return .string(sent ?? "")
    }
    return [
      "companyName": text(companyName, sent.companyName), "position": text(position, sent.position),
    ]
  }
}

/// The idempotency key of a save: 128 random bits, in hexadecimal.
enum SaveKey {
  static func random() -> String {
    let words = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
    return [words.0, words.1].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
