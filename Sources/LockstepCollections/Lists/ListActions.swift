import LockstepJSON

/// The actions of a typed list.
///
///     enum Action { case edit(List<Item>.Mutation), clearBought }
///     static let actions = ListActions<Item, Action>(edits: Action.edit, ActionCase("clearBought") { .clearBought })
public struct ListActions<Element: ListContent, Action: Sendable>: Sendable where Element.ID == String {
  let standard: [StandardAction]
  let edit: (@Sendable (List<Element>.Mutation) -> Action)?
  let own: [ActionCase<Action>]
  let verbs: [ElementVerb: VerbAction<Action>]

  /// The standard actions, and further ones.
  ///
  /// - Parameters:
  ///   - edits: Makes an action from a mutation that a standard action proposes.
  ///   - standard: The standard actions that clients may use.
  ///   - own: The module's own actions.
  ///   - verbs: The own actions that verbs perform, instead of the standard ones.
  public init(
    edits: @escaping @Sendable (List<Element>.Mutation) -> Action,
    standard: [StandardAction] = StandardAction.allCases,
    _ own: ActionCase<Action>...,
    verbs: [ElementVerb: VerbAction<Action>] = [:]
  ) {
    self.standard = standard
    self.own = own
    self.verbs = verbs
    edit = edits
  }

  /// Only the module's own actions.
  public init(_ own: ActionCase<Action>..., verbs: [ElementVerb: VerbAction<Action>] = [:]) {
    standard = []
    self.own = own
    self.verbs = verbs
    edit = nil
  }

  /// Only standard actions.
  public init(standard: [StandardAction] = StandardAction.allCases) where Action == List<Element>.Mutation {
    self.standard = standard
    own = []
    verbs = [:]
    edit = { $0 }
  }
}

/// An action of a typed list, as it was read from its payload.
enum TypedListAction<Element: ListContent, Action: Sendable>: Sendable where Element.ID == String {
  /// `edit` makes the module's action from the mutation that the standard action proposes.
  case standard(ListAction, edit: @Sendable (List<Element>.Mutation) -> Action)
  case own(Action)
}

extension ListActions {
  typealias Read = TypedListAction<Element, Action>

  /// The actions for the catalogue, and those of the verbs.
  func cases(_ form: any ElementForm) -> (listed: [ActionCase<Read>], verbs: [ElementVerb: VerbAction<Read>]) {
    var listed = own.map { $0.map(Read.own) }
    var verbs = verbs.mapValues { $0.map(Read.own) }
    if let edit {
      let read: @Sendable (ListAction) -> Read = { .standard($0, edit: edit) }
      listed = ListAction.cases(standard, form).map { $0.map(read) } + listed
      verbs.merge(ListAction.verbs(standard).mapValues { $0.map(read) }) { own, _ in own }
    }
    return (listed, verbs)
  }
}

extension ActionCase {
  /// The same type of action, as another type of Swift.
  fileprivate func map<Other>(_ make: @escaping @Sendable (Action) -> Other) -> ActionCase<Other> {
    ActionCase<Other>(type: type, payload: payload, repeatedMember: repeatedMember) {
      [read] payload, network, budget throws(Refusal) in make(try read(payload, network, budget))
    }
  }
}

extension VerbAction {
  fileprivate func map<Other>(_ make: @escaping @Sendable (Action) -> Other) -> VerbAction<Other> {
    own.map { .unlisted($0.map(make)) } ?? VerbAction<Other>(stringLiteral: type)
  }
}
