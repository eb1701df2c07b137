import Lockstep

/// A screen that adds notes: a text with validation, and a save that takes time.
struct NewNote: Reactor {
  struct State: Sendable, Equatable {
    /// The text as the user types it.
    var text = ""
    var isSaving = false
    /// How many notes the screen has added.
    var saved = 0
    /// A pulse, because a second failure is a second event.
    @Pulse var error: String?

    var validation: ValidationResult { NewNote.texts.validate(text) }
    var saveEnabled: Bool { !isSaving && validation.isValid }

    static let format = ValueFormat<State>(
      .member("text", .text, \.text),
      .member("validation", .validation, \.validation),
      .member("saveEnabled", .flag, \.saveEnabled),
      .member("isSaving", .flag, \.isSaving),
      .member("saved", .count, \.saved),
      .pulse("error", .message, \.$error)
    )
  }

  enum Action: Sendable {
    case setText(String)
    case save
  }

  enum Mutation: Sendable {
    case text(String)
    case saving
    case saved
    case failed(String)
  }

  static let texts = Validator.text(
    1...1_000,
    missing: "Enter a note.",
    tooShort: "",
    tooLong: "A note has at most 1,000 characters."
  )

  let initialState = State()
  let user: ScreenUser
  let newID: @Sendable () -> String

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setText(let text): return .just(.text(text))
    case .save:
      guard state.saveEnabled else {
        return .failure(Refusal.conflict("saveEnabled is false. validation shows why."))
      }
      return .concat(.just(.saving), .run { emit in try await emit(save(state.text)) })
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .text(let text): state.text = text
    case .saving:
      state.isSaving = true
      state.$error.clear()
    case .saved:
      (state.isSaving, state.text) = (false, "")
      state.saved += 1
    case .failed(let message):
      state.isSaving = false
      state.error = message
    }
  }

  /// Performs an action of the module `notes` for the user.
  private func save(_ text: String) async -> Mutation {
    do throws(StateChangeError) {
      try await user.perform("notes", "add", ["id": .string(newID()), "text": .string(Self.texts.normalise(text))])
      return .saved
    } catch {
      return .failed(error.message)
    }
  }
}

extension ScreenDeclaration {
  /// The screen `newNote`, at `/v1/reactors/newNote`.
  static let newNote = user(
    "newNote",
    follows: [],
    actions: [
      ActionCase("setText", .typed("value")) { .setText($0) },
      ActionCase("save") { .save },
    ],
    state: NewNote.State.format
  ) { _, user in
    NewNote(user: user) { String(UInt64.random(in: .min ... .max), radix: 36) }
  }
}
