import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepTime

/// The state that the app shows: the copy with the pending writes on top.
///
/// The modules' own reactors decide and apply the writes, with the same code as on the server. If a
/// reactor refuses a write, the view does not show it: the server will refuse it too, or has a newer
/// state. A module that the client does not have may be a collection that was declared without code,
/// so it has the actions of one.
struct OptimisticView: Sendable {
  private let modules: [ExactText: UserModule]
  /// Lists and maps without a schema, by name.
  private var declared: [CollectionMutation.Kind: [ExactText: UserModule]] = [:]
  private(set) var state = UserState()
  /// The number of the last write in `state`.
  private var last: Int64 = 0
  private var steps = 0

  init(_ modules: [UserModule]) {
    self.modules = Dictionary(modules.map { ($0.name.exact, $0) }) { first, _ in first }
  }

  /// Begins again with the copy.
  mutating func rebuild(on copy: ClientCopy, _ outbox: Outbox) {
    (state, last, steps) = (copy.state, 0, copy.position?.revision ?? 0)
    add(outbox)
  }

  /// Applies the writes of the outbox that came since the last call.
  mutating func add(_ outbox: Outbox) {
    for entry in outbox.entries(after: last) {
      last = entry.number
      if entry.isShown { apply(entry) }
    }
  }

  /// Throws if a module that was passed to the client finds an action invalid. The server would
  /// refuse the action too. Other refusals, such as of an element that is missing in the copy,
  /// depend on the server's state.
  mutating func check(_ entry: OutboxEntry) throws {
    guard case .refused(let action, let error) = result(of: entry), modules[action.module.exact] != nil else { return }
    guard case .invalid(let faults)? = error as? Refusal else { return }
    throw ClientFailure.invalid(
      "The action “\(action.type)” of \(action.module) is not valid.",
      faults.map { ($0.pointer, $0.detail) }
    )
  }

  /// Applies a write as a whole, or not at all if one of its actions is refused.
  private mutating func apply(_ entry: OutboxEntry) {
    steps += 1
    if case .state(let next) = result(of: entry) { state = next }
  }

  private enum WriteEffect {
    case state(UserState)
    case refused(ClientAction, any Error)
  }

  private mutating func result(of entry: OutboxEntry) -> WriteEffect {
    let revision = Revision(number: steps)
    var next = state
    for action in entry.actions {
      let module = module(of: action, in: next)
      let context = ActionContext(state: next, registered: RegisteredDefaults(), now: entry.at)
      do {
        guard let decided = try module.read(action.type, action.payload) else {
          let detail = "The module \(action.module) has no action “\(action.type)”."
          return .refused(action, Refusal.invalid("/type", detail))
        }
        let mutations = try decided.decide(context)
        _ = next.reduce(mutations, in: decided.collection, by: module.reducer, revision: revision)
      } catch {
        return .refused(action, error)
      }
    }
    return .state(next)
  }

  private mutating func module(of action: ClientAction, in state: UserState) -> UserModule {
    if let module = modules[action.module.exact] { return module }
    // Only an empty collection can get another kind: that of a later declaration.
    let present = state.collections[action.collection].flatMap { $0.count > 0 ? $0.kind : nil }
    let kind = present ?? action.kind
    if let module = declared[kind]?[action.module.exact] { return module }
    let module = UserModule.declared(DeclaredCollection(name: action.module, kind: kind))
    declared[kind, default: [:]][action.module.exact] = module
    return module
  }
}

extension ClientAction {
  /// The kind of a declared collection with this action.
  fileprivate var kind: CollectionMutation.Kind {
    switch type {
    case "set", "merge", "increment": .map
    case "remove" where payload["key"] != nil: .map
    default: .list
    }
  }
}
