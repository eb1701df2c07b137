import LockstepCollections
import LockstepJSON

/// An action on a user's favorites.
package enum FavoritesAction: Sendable {
  /// Adds an element at the end or at an index. If the id exists, replaces that element at its
  /// place.
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

/// The members of a favorite that clients choose.
package struct FavoriteContent: Sendable {
  package var title: String?
  var data: JSON?

  package init(title: String? = nil, data: JSON? = nil) {
    self.title = title
    self.data = data
  }

  static let titleBytes = 512
  static let dataBytes = 16 * 1024

  /// Members that the server sets. Clients may send them back; the server ignores them.
  static let serversWords = ["addedAt", "updatedAt"]
  private static let passedOver: JSON = ["description": "May be sent back as it came; nothing is done with it."]
}

extension FavoritesAction {
  /// The actions that `POST /v1/actions` accepts.
  static let cases: [ActionCase<FavoritesAction>] = [
    ActionCase("add", .name("id"), .favorite, .optionalIndex("index")) { .add(id: $0, $1, index: $2) },
    ActionCase("update", .name("id"), .favoritePatch) { .update(id: $0, patch: $1) },
    ActionCase("remove", .name("id")) { .remove(id: $0) },
    ActionCase("move", .name("id"), .index("index")) { .move(id: $0, index: $1) },
    ActionCase("toggle", .name("id"), .favorite) { .toggle(id: $0, $1) },
    ActionCase("clear") { .clear },
  ]

  /// The journal's record of the action.
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

extension FavoriteContent {
  /// The id and the content as members of an object.
  func object(withID id: String) -> JSONObject {
    var object: JSONObject = ["id": .string(id)]
    if let title { object["title"] = .string(title) }
    if let data { object["data"] = data }
    return object
  }
}

extension FavoriteContent: Equatable {
  /// Compares the bytes that clients see. `String` would treat some different texts as equal.
  package static func == (left: FavoriteContent, right: FavoriteContent) -> Bool {
    left.title.map { ElementKey($0) } == right.title.map { ElementKey($0) }
      && left.data?.encoded() == right.data?.encoded()
  }
}

extension PayloadField<FavoriteContent> {
  /// The members of a favorite that clients choose.
  static var favorite: PayloadField {
    PayloadField(FavoriteContent.schemaMembers) { reader, _ in reader.favorite() }
  }
}

extension PayloadField<JSONObject> {
  /// The changed members of a favorite.
  static var favoritePatch: PayloadField {
    PayloadField(FavoriteContent.schemaMembers) { reader, _ in
      _ = reader.favorite()
      return reader.members(["title", "data"])
    }
  }
}

extension FavoriteContent {
  fileprivate static var schemaMembers: [SchemaMember] {
    [
      SchemaMember(
        name: "title",
        schema: ["type": ["string", "null"], "maxLength": JSON(titleBytes)],
        isRequired: false
      ),
      SchemaMember(name: "data", schema: [:], isRequired: false),
    ] + serversWords.map { SchemaMember(name: $0, schema: passedOver, isRequired: false) }
  }
}

extension PayloadReader {
  /// Reads the members of a favorite that clients choose. Null means no value.
  package mutating func favorite() -> FavoriteContent {
    passOver("id", "addedAt", "updatedAt")
    let title = string("title", upTo: FavoriteContent.titleBytes)
    guard let data = value("data"), !data.isNull else { return FavoriteContent(title: title) }
    let size = data.encoded().count
    if size > FavoriteContent.dataBytes {
      add("data", "It must have at most \(FavoriteContent.dataBytes) bytes as JSON, and has \(size).")
    }
    return FavoriteContent(title: title, data: data)
  }

  /// Reads the members with these names. Missing ones are left out.
  mutating func members(_ names: [String]) -> JSONObject {
    var members = JSONObject()
    for name in names { if let value = value(name) { members[name] = value } }
    return members
  }
}
