import LockstepJSON
import LockstepTime

/// The actions that every typed list can have, with the payloads that `SyncedList` of the Swift client and
/// the favorites have. The server turns them into a mutation before the module decides.
public enum StandardAction: String, Sendable, CaseIterable {
  /// `PUT`: replaces the element with the id, or adds a new one at `index` or at the end.
  case add
  /// `PATCH`: changes members of an element by a merge patch (RFC 7396) or a JSON patch (RFC 6902).
  case update
  /// `DELETE`: removes an element.
  case remove
  /// `PUT` of the position: moves an element to `index`.
  case move
  /// Removes the element if there is one with the id, and adds it otherwise.
  case toggle
  /// Removes all elements.
  case clear
}

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

/// An action that was read from its payload. It becomes the module's action when the list is known.
struct PendingListAction<Action: Sendable>: Sendable {
  /// Returns the action, and the element that it proposes.
  let action: @Sendable (ListState, ActionContext) throws(Refusal) -> (Action, ElementProposal?)
}

extension ListActions {
  private typealias Pending = PendingListAction<Action>

  /// The actions for the catalogue, and those of the verbs.
  func cases(
    of module: String,
    _ format: ElementFormat<Element>
  ) -> (listed: [ActionCase<PendingListAction<Action>>], verbs: [ElementVerb: VerbAction<PendingListAction<Action>>]) {
    var listed: [ActionCase<Pending>] = []
    var actions: [ElementVerb: VerbAction<Pending>] = [:]
    if let edit {
      let edits = StandardEdits(module: module, format: format, edit: edit)
      for action in StandardAction.allCases where standard.contains(action) { listed.append(edits.action(action)) }
      if standard.contains(.add) { actions[.put] = "add" }
      if standard.contains(.update) {
        actions[.patch] = "update"
        actions[.jsonPatch] = .unlisted(edits.jsonPatch)
      }
      if standard.contains(.remove) { actions[.delete] = "remove" }
      if standard.contains(.move) { actions[.move] = "move" }
    }
    listed += own.map { $0.pending() }
    for (verb, action) in verbs { actions[verb] = action.pending() }
    return (listed, actions)
  }
}

extension ActionCase {
  fileprivate func pending() -> ActionCase<PendingListAction<Action>> {
    ActionCase<PendingListAction<Action>>(type: type, payload: payload, repeatedMember: repeatedMember) {
      [read] payload, network, budget throws(Refusal) in
      let action = try read(payload, network, budget)
      return PendingListAction { _, _ in (action, nil) }
    }
  }
}

extension VerbAction {
  fileprivate func pending() -> VerbAction<PendingListAction<Action>> {
    own.map { .unlisted($0.pending()) } ?? VerbAction<PendingListAction<Action>>(stringLiteral: type)
  }
}

/// Turns the standard actions into mutations.
private struct StandardEdits<Element: ListContent, Action: Sendable>: Sendable where Element.ID == String {
  typealias Pending = PendingListAction<Action>
  typealias Mutation = List<Element>.Mutation
  typealias Proposal = (mutation: Mutation, element: ElementProposal?)

  let module: String
  let format: ElementFormat<Element>
  let edit: @Sendable (Mutation) -> Action

  func action(_ action: StandardAction) -> ActionCase<Pending> {
    switch action {
    case .add: ActionCase("add", .name("id"), content, .optionalIndex("index")) { add($0, $1, $2) }
    case .update: ActionCase("update", .name("id"), patch) { update($0, $1) }
    case .remove: ActionCase("remove", .name("id")) { remove($0) }
    case .move: ActionCase("move", .name("id"), .index("index")) { move($0, $1) }
    case .toggle: ActionCase("toggle", .name("id"), content) { toggle($0, $1) }
    case .clear: ActionCase("clear") { clear() }
    }
  }

  var jsonPatch: ActionCase<Pending> {
    ActionCase("patch", .name("id"), .jsonPatch("operations")) { id, patch in
      pending { list, context throws(Refusal) in
        try change(id, in: list, context) { content throws(Refusal) in
          try patch.applied(to: content, budget: context.budget)
        }
      }
    }
  }

  private var content: PayloadField<JSONObject> {
    PayloadField(format.payload(isPatch: false)) { reader, _ in format.content(&reader) }
  }

  private var patch: PayloadField<JSONObject> {
    PayloadField(format.payload(isPatch: true)) { reader, _ in format.patch(&reader) }
  }

  private func pending(
    _ propose: @escaping @Sendable (ListState, ActionContext) throws(Refusal) -> Proposal
  ) -> Pending {
    Pending { list, context throws(Refusal) in
      let proposal = try propose(list, context)
      return (edit(proposal.mutation), proposal.element)
    }
  }

  private func add(_ id: String, _ content: JSONObject, _ index: Int?) -> Pending {
    pending { list, context throws(Refusal) in
      let old = list[id].map { decoded($0, context) }
      let (element, proposal) = try format.element(id, content, old: old, now: context.now)
      if old != nil { return (.replace(element), proposal) }
      return (.insert(element, at: min(index ?? list.count, list.count)), proposal)
    }
  }

  private func update(_ id: String, _ patch: JSONObject) -> Pending {
    pending { list, context throws(Refusal) in
      try change(id, in: list, context) { $0.mergePatched(with: .object(patch)) }
    }
  }

  private func change(
    _ id: String,
    in list: ListState,
    _ context: ActionContext,
    _ change: (JSON) throws(Refusal) -> JSON
  ) throws(Refusal) -> Proposal {
    let old = decoded(try existing(id, in: list), context)
    let changed = try change(.object(format.content(of: old)))
    guard let content = changed.objectValue else {
      throw .invalid("", "The patch must leave an object, and leaves \(changed.typeName).")
    }
    try format.check(content)
    let (element, proposal) = try format.element(id, content, old: old, now: context.now)
    return (.replace(element), proposal)
  }

  private func remove(_ id: String) -> Pending {
    pending { list, _ throws(Refusal) in
      _ = try existing(id, in: list)
      return (.remove(id: id), nil)
    }
  }

  private func move(_ id: String, _ index: Int) -> Pending {
    pending { list, _ throws(Refusal) in
      _ = try existing(id, in: list)
      return (.move(id: id, to: min(index, list.count - 1)), nil)
    }
  }

  private func toggle(_ id: String, _ content: JSONObject) -> Pending {
    pending { list, context throws(Refusal) in
      if list[id] != nil { return (.remove(id: id), nil) }
      let (element, proposal) = try format.element(id, content, old: nil, now: context.now)
      return (.insert(element, at: list.count), proposal)
    }
  }

  private func clear() -> Pending { pending { _, _ in (.clear, nil) } }

  /// The element, to be changed and compared.
  private func decoded(_ item: ListItem, _ context: ActionContext) -> JSONObject {
    context.budget?.spend(decodedBytes: item.text.count)
    return item.object
  }

  private func existing(_ id: String, in list: ListState) throws(Refusal) -> ListItem {
    guard let item = list[id] else { throw .notFound("There is no element with the id “\(id)” in \(module).") }
    return item
  }
}
