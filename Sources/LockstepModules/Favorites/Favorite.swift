import LockstepCollections
import LockstepJSON

/// An element of the user's favorites.
struct Favorite: ListElement {
  let id: String
  var content: FavoriteContent
  let addedAt: String
  var updatedAt: String

  static let format = ValueFormat<Favorite>(
    .member("id", .text, \.id),
    .optional("title", .text, \.content.title),
    .optional("data", .json, \.content.data),
    .member("addedAt", .text.readOnly, \.addedAt),
    .member("updatedAt", .text.readOnly, \.updatedAt)
  )
}

extension Favorite {
  init?(_ object: JSONObject) {
    guard let id = object["id"]?.stringValue, let addedAt = object["addedAt"]?.stringValue,
      let updatedAt = object["updatedAt"]?.stringValue
    else { return nil }
    self.init(id: id, content: FavoriteContent(of: object), addedAt: addedAt, updatedAt: updatedAt)
  }
}

/// The part of a favorite that the client chooses.
package struct FavoriteContent: Sendable {
  package var title: String?
  package var data: JSON?

  package init(title: String? = nil, data: JSON? = nil) {
    self.title = title
    self.data = data
  }

  package init(of object: JSONObject) {
    self.init(title: object["title"]?.stringValue, data: object["data"])
  }

  static let titleBytes = 512
  static let dataBytes = 16 * 1024

  /// The content as a JSON object, without missing members. If `id` is given, it comes first.
  package func object(withID id: String? = nil) -> JSONObject {
    var object = JSONObject()
    if let id { object.append(.string(id), named: "id") }
    if let title { object.append(.string(title), named: "title") }
    if let data { object.append(data, named: "data") }
    return object
  }
}

extension FavoriteContent: Equatable {
  /// Equal if clients see the same bytes. `String` would treat some different bytes as equal.
  package static func == (left: FavoriteContent, right: FavoriteContent) -> Bool {
    left.title.map { ElementKey($0) } == right.title.map { ElementKey($0) }
      && left.data?.encoded() == right.data?.encoded()
  }
}

extension PayloadField<FavoriteContent> {
  /// The content of a favorite. Clients may also send the times that `GET` shows. The server
  /// ignores them.
  static var favorite: PayloadField {
    let ignored: JSON = ["description": "Clients may send this back unchanged. The server ignores it."]
    return PayloadField([
      SchemaMember(
        name: "title",
        schema: ["type": ["string", "null"], "maxLength": JSON(FavoriteContent.titleBytes)],
        isRequired: false
      ),
      SchemaMember(name: "data", schema: [:], isRequired: false),
      SchemaMember(name: "addedAt", schema: ignored, isRequired: false),
      SchemaMember(name: "updatedAt", schema: ignored, isRequired: false),
    ]) { reader, _ in reader.favorite() }
  }
}

extension PayloadReader {
  /// Reads the content of a favorite. A member that is null counts as missing.
  mutating func favorite() -> FavoriteContent {
    passOver("id", "addedAt", "updatedAt")
    let title = string("title", upTo: FavoriteContent.titleBytes)
    guard let data = value("data"), !data.isNull else { return FavoriteContent(title: title) }
    let size = data.encodedByteCount
    if size > FavoriteContent.dataBytes {
      add("data", "It must have at most \(FavoriteContent.dataBytes) bytes as JSON, and has \(size).")
    }
    return FavoriteContent(title: title, data: data)
  }
}
