import LockstepJSON
import LockstepMigrations

/// A module whose state belongs to a user and is kept: all that the product knows of it, and all else follows from it.
///
/// One of a server's own is declared by `UserModule.list(…)` or `UserModule.map(…)`.
public struct UserModule: Sendable {
  /// Its name, which its actions and collections carry.
  public var name: String { service.module }
  /// Its tables.
  let service: any CollectionService
  /// Its actions as the catalogue shows them.
  let actions: JSON
  /// The JSON Schema of its state, as clients get it.
  let state: JSON
  /// Reads an action as `POST /v1/actions` takes it; nil when the module has no such type.
  let read: @Sendable (_ type: String, _ payload: JSON) throws(Refusal) -> UserAction?
  /// The action that each verb on an element's address stands for, of a module that has no routes of its own.
  var verbs: [ElementVerb: DeclaredVerb] = [:]
  /// The steps of its own tables' schema.
  var migrations: [Migration] = []

  /// A module whose actions are of these cases, each on its way to a collection by `make`.
  init<Action>(
    service: any CollectionService,
    cases: [ActionCase<Action>],
    state: JSON,
    make: @escaping @Sendable (Action) -> UserAction
  ) {
    self.init(service: service, cases: cases, state: state) { _, _, action in make(action) }
  }

  /// A module whose actions are of these cases, each on its way to a collection by `make`, which is told its type and
  /// payload too.
  init<Action>(
    service: any CollectionService,
    cases: [ActionCase<Action>],
    state: JSON,
    make: @escaping @Sendable (_ type: String, _ payload: JSON, Action) -> UserAction
  ) {
    self.service = service
    self.state = state
    actions = cases.catalogue()
    read = { type, payload throws(Refusal) in
      guard let found = cases.first(where: { $0.type == type }) else { return nil }
      // Who is logged in may do this from anywhere.
      return make(type, payload, try found.read(payload, ClientNetwork(host: "")))
    }
  }
}
