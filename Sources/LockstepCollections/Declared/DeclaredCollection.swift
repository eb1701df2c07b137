import LockstepJSON
import LockstepSchema

/// A collection that an administrator declares as JSON, without code.
package struct DeclaredCollection: Sendable {
  /// The clients that may write.
  package enum Access: String, Sendable, CaseIterable {
    case readWrite
    /// Users read. The administrator and service tokens write.
    case readOnly
  }

  package let name: String
  package let kind: CollectionMutation.Kind
  package let description: String?
  /// Checks the `data` of a list's elements, or the values of a map. Nil: all are allowed.
  package let schema: ValueSchema?
  package let quota: CollectionQuota
  package let access: Access

  package init(
    name: String,
    kind: CollectionMutation.Kind,
    description: String? = nil,
    schema: ValueSchema? = nil,
    quota: CollectionQuota = CollectionQuota(),
    access: Access = .readWrite
  ) {
    (self.name, self.kind, self.description) = (name, kind, description)
    (self.schema, self.quota, self.access) = (schema, quota, access)
  }
}

extension DeclaredCollection {
  /// The bounds of a declaration.
  package enum Bounds {
    /// How many collections a store may declare.
    package static let collections = 4_096
    static let descriptionBytes = 1_024
    package static let elements = 1...10_000_000
    package static let bytes = 1...1_073_741_824
  }

  /// The declaration as clients see it, with all members that have a default value.
  package var json: JSON {
    var object = JSONObject()
    object["name"] = .string(name)
    object["kind"] = .string(kind.rawValue)
    if let description { object["description"] = .string(description) }
    object["schema"] = schema?.json ?? [:]
    object["quota"] = ["elements": JSON(quota.elements), "bytes": JSON(quota.bytes)]
    object["access"] = .string(access.rawValue)
    return .object(object)
  }

  /// The member that marks a closed collection in responses. `PUT` ignores it, so that a client can
  /// send back a declaration that it has read.
  package static let deleting = "deleting"

  /// Reads a declaration. Throws all its faults. `name` is the name in the path of a request. Then the
  /// declaration may leave it out.
  package init(_ json: JSON, named name: String? = nil) throws(Refusal) {
    var reader = PayloadReader(json)
    let ownName = Self.readName(&reader, path: name)
    let kind = reader.choice("kind", of: [CollectionMutation.Kind.list, .map], isRequired: true)
    let description = reader.string("description", upTo: Bounds.descriptionBytes)
    let schema = Self.readSchema(&reader)
    let quota = Self.readQuota(&reader)
    let access = reader.choice("access", of: Access.allCases, isRequired: false)
    reader.passOver(Self.deleting)
    try reader.finish()
    guard let ownName, let kind else { throw .invalid("", "It cannot be read.") }
    self.init(
      name: ownName,
      kind: kind,
      description: description,
      schema: schema,
      quota: quota,
      access: access ?? .readWrite
    )
  }

  /// The fault of a name, or `nil` if it is valid.
  package static func fault(ofName name: String) -> String? {
    let letters = "abcdefghijklmnopqrstuvwxyz"
    let isPlain = name.utf8.allSatisfy((letters + letters.uppercased() + "0123456789").utf8.contains)
    if isPlain, let first = name.utf8.first, letters.utf8.contains(first), name.utf8.count <= 64 { return nil }
    return "A name is a lower-case letter a-z, then up to 63 of the characters A-Z a-z 0-9."
  }

  private static func readName(_ reader: inout PayloadReader, path: String?) -> String? {
    guard let path else {
      guard let name = reader.text("name") else { return nil }
      if let wrong = fault(ofName: name) { reader.add("name", wrong) }
      return name
    }
    if let name = reader.value("name"), name != .string(path) {
      reader.add("name", "It must be the name in the path, or be left out.")
    }
    return path
  }

  private static func readSchema(_ reader: inout PayloadReader) -> ValueSchema? {
    guard let json = reader.value("schema"), !json.isNull, json != [:], json != true else { return nil }
    do throws(InvalidSchemaError) {
      return try ValueSchema(json)
    } catch {
      reader.add(error.faults.map { FieldFault(pointer: "/schema\($0.pointer)", detail: $0.detail) })
      return nil
    }
  }

  private static func readQuota(_ reader: inout PayloadReader) -> CollectionQuota {
    var quota = CollectionQuota()
    guard let json = reader.value("quota"), !json.isNull else { return quota }
    var members = PayloadReader(json)
    if let elements = members.integer("elements", in: Bounds.elements) { quota.elements = elements }
    if let bytes = members.integer("bytes", in: Bounds.bytes) { quota.bytes = bytes }
    do throws(Refusal) { try members.finish() } catch {
      if case .invalid(let faults) = error.moved(under: "/quota") { reader.add(faults) }
    }
    return quota
  }
}

extension PayloadReader {
  fileprivate mutating func choice<Choice: RawRepresentable<String>>(
    _ name: String,
    of choices: [Choice],
    isRequired: Bool
  ) -> Choice? {
    guard let value = isRequired ? required(name) : value(name) else { return nil }
    if value.isNull, !isRequired { return nil }
    if let choice = value.stringValue.flatMap(Choice.init(rawValue:)) { return choice }
    add(name, "It must be \(choices.map(\.rawValue).joined(separator: " or ")).")
    return nil
  }

  fileprivate mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
    guard let value = value(name), !value.isNull else { return nil }
    if let number = value.intValue, range.contains(number) { return number }
    add(name, "It must be a whole number from \(range.lowerBound) to \(range.upperBound).")
    return nil
  }
}
