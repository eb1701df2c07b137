import LockstepCollections
import LockstepJSON

enum FavoritesAction: Sendable {
  /// Replaces the element with this id, or adds a new element at an index or at the end.
  case add(id: String, FavoriteContent, index: Int?)
  /// Changes an element's content by a merge patch (RFC 7396).
  case update(id: String, patch: JSONObject)
  /// Changes an element's content by a JSON patch (RFC 6902).
  case patch(id: String, PatchDocument)
  case remove(id: String)
  case move(id: String, index: Int)
  /// Removes the element if it exists, otherwise adds it.
  case toggle(id: String, FavoriteContent)
  case clear
}

extension FavoritesAction {
  static let cases: [ActionCase<FavoritesAction>] = [
    ActionCase("add", .name("id"), .favorite, .optionalIndex("index")) { .add(id: $0, $1, index: $2) },
    ActionCase("update", .name("id"), .favoritePatch) { .update(id: $0, patch: $1) },
    ActionCase("remove", .name("id")) { .remove(id: $0) },
    ActionCase("move", .name("id"), .index("index")) { .move(id: $0, index: $1) },
    ActionCase("toggle", .name("id"), .favorite) { .toggle(id: $0, $1) },
    ActionCase("clear") { .clear },
  ]

  /// The reactor checks the body of `PATCH`, after it has looked for the element. So a missing
  /// element gets 404 even if the body is invalid.
  static let verbs: [ElementVerb: VerbAction<FavoritesAction>] = [
    .put: "add",
    .patch: .unlisted(
      ActionCase("update", .name("id"), .unchecked(like: .favorite)) { (id: String, patch: JSONObject) in
        let changes = patch.filter { $0.name != "addedAt" && $0.name != "updatedAt" }
        return FavoritesAction.update(id: id, patch: JSONObject(changes.map { ($0.name, $0.value) }))
      }
    ),
    .jsonPatch: .unlisted(ActionCase("patch", .name("id"), .jsonPatch("operations")) { .patch(id: $0, $1) }),
    .delete: "remove",
    .move: "move",
  ]

  /// The action as the journal shows it.
  var record: JSON {
    switch self {
    case .add(let id, let content, let index):
      var payload = content.object(withID: id)
      if let index { payload["index"] = .integer(Int64(index)) }
      return Self.record("add", payload)
    case .update(let id, let patch):
      return Self.record("update", JSONObject([("id", .string(id))] + patch.map { ($0.name, $0.value) }))
    case .patch(let id, let patch): return Self.record("patch", ["id": .string(id), "operations": patch.json])
    case .remove(let id): return Self.record("remove", ["id": .string(id)])
    case .move(let id, let index): return Self.record("move", ["id": .string(id), "index": .integer(Int64(index))])
    case .toggle(let id, let content): return Self.record("toggle", content.object(withID: id))
    case .clear: return Self.record("clear", [:])
    }
  }

  private static func record(_ type: String, _ payload: JSONObject) -> JSON {
    ["type": .string(type), "payload": .object(payload)]
  }
}

extension PayloadField<JSONObject> {
  fileprivate static var favoritePatch: PayloadField {
    let content = PayloadField<FavoriteContent>.favorite
    return PayloadField(content.members) { reader, _ in
      _ = reader.favorite()
      var patch = JSONObject()
      for name in ["title", "data"] { if let value = reader.value(name) { patch[name] = value } }
      return patch
    }
  }
}
