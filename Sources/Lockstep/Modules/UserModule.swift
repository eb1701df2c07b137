import JSON

/// What the product knows of a module whose state belongs to a user and is kept: all else follows from it.
struct UserModule: Sendable {
  /// Its name, which its actions and collections carry.
  var name: String { service.module }
  /// Its tables.
  let service: any CollectionService
  /// Its actions as the catalogue shows them.
  let actions: JSON
  /// The JSON Schema of its state, as clients get it.
  let state: JSON
  /// Reads an action as `POST /v1/actions` takes it; nil when the module has no such type.
  let read: @Sendable (_ type: String, _ payload: JSON) throws(Refusal) -> UserAction?

  /// A module whose actions are of these cases, each on its way to a collection by `make`.
  init<Action>(
    service: any CollectionService,
    cases: [ActionCase<Action>],
    state: JSON,
    make: @escaping @Sendable (Action) -> UserAction
  ) {
    self.service = service
    self.state = state
    actions = cases.catalogue()
    read = { type, payload throws(Refusal) in
      guard let found = cases.first(where: { $0.type == type }) else { return nil }
      // Who is logged in may do this from anywhere.
      return make(try found.read(payload, ClientNetwork(host: "")))
    }
  }
}
