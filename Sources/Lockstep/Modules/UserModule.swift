import JSON

/// What the product knows of a module whose state belongs to a user and is kept: all else follows from it.
struct UserModule: Sendable {
  /// Its name, which its actions and collections carry.
  var name: String { service.module }
  /// Its tables.
  let service: any CollectionService
  /// Reads an action as `POST /v1/actions` takes it; nil when the module has no such type.
  let read: @Sendable (_ type: String, _ payload: JSON) throws(Refusal) -> UserAction?
}
