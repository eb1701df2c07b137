import LockstepCollections
import LockstepJSON

/// An element of an ordered list, such as a favorite.
struct OrderedElement: ListElement {
  let id: String
  var content: ElementContent
  let addedAt: String
  var updatedAt: String

  static let format = ValueFormat<OrderedElement>(
    .member("id", .text, \.id),
    .optional("title", .text, \.content.title),
    .optional("data", .json, \.content.data),
    .member("addedAt", .timeText.readOnly, \.addedAt),
    .member("updatedAt", .timeText.readOnly, \.updatedAt)
  )
}

extension OrderedElement {
  /// The JSON Schema of an element that keeps the rules.
  static func schema(_ rules: ElementRules) -> JSON {
    guard var element = format.schema.objectValue, var members = element["properties"]?.objectValue else { return [:] }
    members["data"] = rules.schema
    element["properties"] = .object(members)
    if rules.requiresData { element["required"] = .array((element["required"]?.arrayValue ?? []) + ["data"]) }
    return .object(element)
  }

  init?(_ object: JSONObject) {
    guard let id = object["id"]?.stringValue, let addedAt = object["addedAt"]?.stringValue,
      let updatedAt = object["updatedAt"]?.stringValue
    else { return nil }
    self.init(id: id, content: ElementContent(of: object), addedAt: addedAt, updatedAt: updatedAt)
  }
}

/// The part of an element that the client chooses.
package struct ElementContent: Sendable {
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

  /// The content as a JSON object, without missing members. If `id` is given, it comes first.
  package func object(withID id: String? = nil) -> JSONObject {
    var object = JSONObject()
    if let id { object.append(.string(id), named: "id") }
    if let title { object.append(.string(title), named: "title") }
    if let data { object.append(data, named: "data") }
    return object
  }
}

extension ElementContent: Equatable {
  /// Equal if clients see the same bytes. `String` would treat some different bytes as equal.
  package static func == (left: ElementContent, right: ElementContent) -> Bool {
    left.title?.exact == right.title?.exact
      && left.data?.encoded() == right.data?.encoded()
  }
}

/// The rules for the content of a list's elements.
package struct ElementRules: Sendable {
  /// One element in a sentence, such as “favorite”.
  let noun: String
  /// The longest `data`, in bytes as JSON.
  let dataBytes: Int
  /// The JSON Schema of `data`, for descriptions.
  let schema: JSON
  /// The faults of `data`, with pointers that begin at it. Missing data is null.
  let faults: (@Sendable (_ data: JSON, WorkBudget?) -> [FieldFault])?

  package init(
    noun: String,
    dataBytes: Int,
    schema: JSON = [:],
    faults: (@Sendable (_ data: JSON, WorkBudget?) -> [FieldFault])? = nil
  ) {
    (self.noun, self.dataBytes, self.schema, self.faults) = (noun, dataBytes, schema, faults)
  }

  /// Whether an element must have `data`: the schema refuses null, which missing data counts as.
  var requiresData: Bool { faults?(.null, nil).isEmpty == false }

  /// The JSON Schema of a change of `data`. A merge patch of valid data may be any JSON.
  var patchSchema: JSON {
    faults == nil
      ? schema : ["description": "A merge patch (RFC 7396). The server checks its result by the schema of the data."]
  }

  /// The faults of an element's data, with pointers that begin at the element.
  func faults(of content: ElementContent, _ budget: WorkBudget?) -> [FieldFault] {
    guard let faults else { return [] }
    return faults(content.data ?? .null, budget).map { FieldFault(pointer: "/data\($0.pointer)", detail: $0.detail) }
  }
}

extension PayloadField<ElementContent> {
  /// The content of an element. Clients may also send the times that `GET` shows. The server
  /// ignores them.
  static func content(_ rules: ElementRules) -> PayloadField {
    PayloadField(members(data: rules.schema, isRequired: rules.requiresData)) { reader, _ in
      let content = reader.content(rules)
      reader.add(rules.faults(of: content, reader.budget))
      return content
    }
  }

  static func members(data: JSON, isRequired: Bool = false) -> [SchemaMember] {
    let ignored: JSON = ["description": "Clients may send this back unchanged. The server ignores it."]
    return [
      SchemaMember(
        name: "title",
        schema: ["type": ["string", "null"], "maxLength": JSON(ElementContent.titleBytes)],
        isRequired: false
      ),
      SchemaMember(name: "data", schema: data, isRequired: isRequired),
      SchemaMember(name: "addedAt", schema: ignored, isRequired: false),
      SchemaMember(name: "updatedAt", schema: ignored, isRequired: false),
    ]
  }
}

extension PayloadField<ToggledContent> {
  /// The content of an element that a toggle may add.
  static func toggled(_ rules: ElementRules) -> PayloadField {
    PayloadField(PayloadField<ElementContent>.members(data: rules.schema)) { reader, _ in
      let content = reader.content(rules)
      return ToggledContent(content: content, faults: rules.faults(of: content, reader.budget))
    }
  }
}

/// The content of an element that a toggle adds, if the element is not in the list. Only then its
/// faults count.
struct ToggledContent: Sendable {
  let content: ElementContent
  let faults: [FieldFault]
}

extension PayloadReader {
  /// Reads the content of an element. A member that is null counts as missing. Does not check the
  /// data by its schema.
  mutating func content(_ rules: ElementRules) -> ElementContent {
    passOver("id", "addedAt", "updatedAt")
    let title = string("title", upTo: ElementContent.titleBytes)
    guard let data = value("data"), !data.isNull else { return ElementContent(title: title) }
    let size = data.encodedByteCount
    if size > rules.dataBytes {
      add("data", "It must have at most \(rules.dataBytes) bytes as JSON, and has \(size).")
    }
    return ElementContent(title: title, data: data)
  }
}
