import Lockstep

/// A form that adds an item to the shopping list, or changes an item.
struct ShoppingForm: Reactor {
  struct State: Sendable, Equatable {
    /// The texts as the user types them.
    var name = ""
    var amount = "1"
    var validatedName = ShoppingForm.names.validate("")
    var isSaving = false
    /// Leads to the form of the saved item. A pulse, because a second save is a second event.
    @Pulse var route: ScreenLink?
    @Pulse var error: String?

    var validatedAmount: ValidationResult { ShoppingForm.amounts.validate(amount) }
    var saveEnabled: Bool { !isSaving && [validatedName, validatedAmount].areAllValid }

    static let format = ValueFormat<State>(
      .member("name", .text, \.name),
      .member("amount", .text, \.amount),
      .member("validatedName", .validation, \.validatedName),
      .member("validatedAmount", .validation, \.validatedAmount),
      .member("saveEnabled", .flag, \.saveEnabled),
      .member("isSaving", .flag, \.isSaving),
      .pulse("route", .link, \.$route),
      .pulse("error", .message, \.$error)
    )
  }

  enum Action: Sendable {
    case setName(String)
    case setAmount(String)
    case save
  }

  enum Mutation: Sendable {
    case name(String, ValidationResult)
    case nameChecked(ValidationResult)
    case amount(String)
    case saving
    case saved(ScreenLink)
    case failed(String)
  }

  static let names = Validator.text(
    1...50,
    missing: "Enter a name.",
    tooShort: "",
    tooLong: "A name has at most 50 characters."
  )
  static let amounts = Validator<String>(normalise: { $0.trimmingWhitespace() }) { text in
    if text.isEmpty { return .empty(message: "Enter an amount.") }
    return (1...999).contains(Int(text) ?? 0) ? .ok : .failed(message: "The amount is a number from 1 to 999.")
  }

  /// The id of the item that the form changes, or of the one that it adds.
  let id: String
  let initialState: State
  private let user: ScreenUser
  private let clock: any Clock<Duration>

  /// A form for the item with this id. If there is none, the form adds it.
  init(id: String, user: ScreenUser, clock: any Clock<Duration>) {
    (self.id, self.user, self.clock) = (id, user, clock)
    var state = State()
    if let item = user.state.list(Shopping.self)[id] {
      (state.name, state.amount, state.validatedName) = (item.name, "\(item.amount)", .ok)
    }
    initialState = state
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setName(let text):
      let result = Self.names.validate(text)
      guard result.isValid else { return .just(.name(text, result)) }
      return .concat(
        .just(.name(text, .validating)),
        .validating(pause: .milliseconds(300), clock: clock, as: { .nameChecked($0) }) { check(text) }
      )
    case .setAmount(let text): return .just(.amount(text))
    case .save:
      guard state.saveEnabled else {
        return .failure(Refusal.conflict("saveEnabled is false. validatedName and validatedAmount show why."))
      }
      return .concat(.just(.saving), .run { emit in try await emit(save(state)) })
    }
  }

  /// Only the name that was typed last is checked.
  func policy(for action: Action) -> EffectPolicy {
    if case .setName = action { .latest("name") } else { .all }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .name(let text, let result): (state.name, state.validatedName) = (text, result)
    case .nameChecked(let result): state.validatedName = result
    case .amount(let text): state.amount = text
    case .saving:
      state.isSaving = true
      state.$error.clear()
      state.$route.clear()
    case .saved(let link):
      state.isSaving = false
      state.route = link
    case .failed(let message):
      state.isSaving = false
      state.error = message
    }
  }

  private func check(_ text: String) -> ValidationResult {
    let name = Self.names.normalise(text).lowercased()
    let isTaken = user.state.list(Shopping.self).contains { $0.id != id && $0.name.lowercased() == name }
    return isTaken ? .failed(message: "This is on the list already.") : .ok
  }

  private func save(_ state: State) async -> Mutation {
    let payload: JSON = [
      "id": .string(id), "name": .string(Self.names.normalise(state.name)),
      "amount": .integer(Int64(Self.amounts.normalise(state.amount)) ?? 1),
    ]
    let type = user.state.list(Shopping.self)[id] == nil ? "add" : "update"
    do throws(StateChangeError) {
      try await user.perform("shopping", type, payload)
      return .saved(ScreenLink("shoppingForm", ["id": id]))
    } catch {
      return .failed(error.message)
    }
  }
}

extension ScreenDeclaration {
  /// The screen `shoppingForm`. Without the argument `id`, it adds an item.
  static let shoppingForm = user(
    "shoppingForm",
    .optionalText("id", bytes: 1...256),
    follows: ["shopping"],
    actions: [
      ActionCase("setName", .typed("value")) { .setName($0) },
      ActionCase("setAmount", .typed("value")) { .setAmount($0) },
      ActionCase("save") { .save },
    ],
    state: ShoppingForm.State.format
  ) { screen, user, id in
    let new = String(UInt64.random(in: .min ... .max), radix: 36)
    return ShoppingForm(id: id ?? new, user: user, clock: screen.clock)
  }
}
