import LockstepJSON
import LockstepTime

/// The requirements of an element of a typed list.
public typealias ListContent = Codable & Equatable & Identifiable & Sendable

/// An element that a client proposes.
struct ElementProposal: Sendable {
  /// The JSON from which the element was read.
  let object: JSONObject
  /// The present element with the same id.
  let old: JSONObject?
}

/// How a module reads, writes and describes its elements: derived from their `Codable` type and
/// from the module's rules.
package struct ElementFormat<Element: ListContent>: Sendable where Element.ID == String {
  /// All members except `id`, in the order in which the type encodes them.
  let members: [ShapeMember]
  /// The members that clients may change.
  private let writable: [ShapeMember]
  /// The values of members that an element may lack.
  let defaults: JSONObject
  private let added: [String]
  private let changed: [String]

  /// Throws an error for the module's author if the type has no schema, or if a rule does not fit.
  package init(_ rules: [ElementRule]) throws {
    let (shape, _) = try ShapeReader().read(Element.self)
    var members = try Self.members(of: shape)
    for rule in rules { try members.apply(rule) }
    defaults = Self.defaults(in: rules)
    for (name, value) in defaults {
      let fits = members.first { $0.name == name }?.shape.faults(of: value).isEmpty ?? false
      if !fits { throw ShapeError(path: [name], reason: "does not fit its rule `default`.") }
    }
    let id = members.firstIndex { $0.name == "id" }
    guard let id, case .text = members[id].shape.kind, members[id].isRequired, !members[id].isReadOnly else {
      throw ShapeError(path: [], reason: "have no required member “id” that is a string.")
    }
    members.remove(at: id)
    if members.contains(where: { $0.name == "index" }) {
      throw ShapeError(
        path: ["index"],
        reason: "has a name that the server uses for the place of an element. Rename it."
      )
    }
    self.members = members
    writable = members.filter { !$0.isReadOnly }
    added = Self.names(in: rules) { if case .added = $0 { true } else { false } }
    changed = Self.names(in: rules) { if case .changed = $0 { true } else { false } }
    for member in members where member.isReadOnly && member.isRequired && !(added + changed).contains(member.name) {
      guard case .described = member.shape.kind else {
        throw ShapeError(
          path: [member.name],
          reason: "is only set by the server, so it needs a `default` or must be optional."
        )
      }
    }
  }

  /// The values of the rules `default`.
  static func defaults(in rules: [ElementRule]) -> JSONObject {
    JSONObject(
      rules.compactMap { rule in
        if case .fallback(let value) = rule.content { (rule.name, value) } else { nil }
      }
    )
  }

  private static func names(in rules: [ElementRule], where isWanted: (ElementRule.Content) -> Bool) -> [String] {
    rules.filter { isWanted($0.content) }.map(\.name)
  }

  private static func members(of shape: ValueShape) throws(ShapeError) -> [ShapeMember] {
    switch shape.kind {
    case .object(let members): return members
    case .described(let schema):
      let required = Set((schema["required"]?.arrayValue ?? []).compactMap(\.stringValue))
      return (schema["properties"]?.objectValue ?? JSONObject()).map { name, schema in
        var member = ShapeMember(name: name, shape: ValueShape(.described(schema)), isRequired: required.contains(name))
        if name == "id" { member.shape = ValueShape(.text) }
        member.isReadOnly = schema["readOnly"]?.boolValue == true
        return member
      }
    default: throw ShapeError(path: [], reason: "are not encoded as objects.")
    }
  }

  /// The JSON Schema of an element.
  var schema: JSON {
    .schema(ofObject: [SchemaMember(name: "id", schema: .nameSchema)] + members.map { $0.description(isClosed: false) })
  }

  // MARK: Payloads

  /// The members that a client may send, for a new element or as a patch.
  func payload(isPatch: Bool) -> [SchemaMember] {
    let ignored: JSON = ["description": "Clients may send this back unchanged. The server ignores it."]
    return members.map { member in
      if member.isReadOnly { return SchemaMember(name: member.name, schema: ignored, isRequired: false) }
      let description = member.description(isClosed: true)
      let schema = member.isRequired ? description.schema : description.schema.orNull
      return SchemaMember(name: member.name, schema: schema, isRequired: member.isRequired && !isPatch)
    }
  }

  /// Reads the members of a new element.
  func content(_ reader: inout PayloadReader) -> JSONObject {
    var content = JSONObject()
    for place in members.indices {
      let value = reader.value(members[place].name)
      if members[place].isReadOnly { continue }
      let faults = members[place].faults(of: value)
      if !faults.isEmpty { reader.add(faults.map { FieldFault($0.moved(under: members[place].name)) }) }
      guard let value, members[place].isRequired || !value.isNull else { continue }
      content.append(value, named: members[place].name)
    }
    return content
  }

  /// Reads the members of a patch. They are checked when the element is known.
  func patch(_ reader: inout PayloadReader) -> JSONObject {
    var patch = JSONObject()
    for member in members {
      if let value = reader.value(member.name), !member.isReadOnly { patch.append(value, named: member.name) }
    }
    return patch
  }

  // MARK: Elements

  /// The part of a stored element that clients may change.
  func content(of object: JSONObject) -> JSONObject {
    var content = JSONObject()
    for member in writable {
      if let value = object[member.name] { content.append(value, named: member.name) }
    }
    return content
  }

  /// Refuses content that does not fit the schema.
  func check(_ content: JSONObject) throws(Refusal) {
    let faults = writable.faults(of: content)
    if !faults.isEmpty { throw .invalid(faults.map(FieldFault.init)) }
  }

  /// The element with this content, which was checked, and the JSON from which it was read. `old`
  /// is the present element with the id, `now` the time of the transaction.
  func element(
    _ id: String,
    _ content: JSONObject,
    old: JSONObject?,
    now: Timestamp
  ) throws(Refusal) -> (element: Element, proposal: ElementProposal) {
    var object = JSONObject()
    object.reserveCapacity(members.count + 1)
    object.append(.string(id), named: "id")
    for place in members.indices {
      let name = members[place].name
      if members[place].isReadOnly {
        if let value = old?[name] {
          object.append(value, named: name)
        } else if isTime(name) {
          object.append(.string(now.description), named: name)
        }
      } else if let value = content[name], members[place].isRequired || !value.isNull {
        object.append(value, named: name)
      } else if let value = defaults[name] {
        object.append(value, named: name)
      }
    }
    do {
      return (try decode(object), ElementProposal(object: object, old: old))
    } catch {
      throw .invalid([FieldFault(error)])
    }
  }

  private func isTime(_ name: String) -> Bool { added.contains(name) || changed.contains(name) }

  func decode(_ object: JSONObject) throws -> Element {
    try JSON.object(object).decoded(as: Element.self, withDefaults: defaults)
  }

  /// Whether the type can read a stored element.
  func canRead(_ encoded: [UInt8]) -> Bool {
    guard let object = JSON(trusting: encoded).objectValue else { return false }
    return (try? decode(object)) != nil
  }

  /// Encodes an element for the store, with the times that the server sets. `old` is the present
  /// element with this id, and `proposal` what a client has proposed for it. Returns nil if nothing
  /// differs from the present element.
  package func encoded(
    _ element: Element,
    old: JSONObject?,
    proposal: JSONObject? = nil,
    now: Timestamp,
    of module: String
  ) throws -> EncodedJSON? {
    var object = try object(of: element, module)
    for name in added { set(old?[name] ?? .string(now.description), name, in: &object) }
    for name in changed { if let value = old?[name] { set(value, name, in: &object) } }
    if let old, object.hasSameMembers(as: old), JSON.object(object).encoded() == JSON.object(old).encoded() {
      return nil
    }
    // If the element is written as it was checked and read, it is valid and stays the same.
    let isKnown = proposal.map { $0.hasSameMembers(as: object) } ?? false
    for name in changed { set(.string(now.description), name, in: &object) }
    if !isKnown {
      try checkBounds(of: object)
      guard let again = try? self.object(of: decode(object), module), again.hasSameMembers(as: object) else {
        throw ModuleError(module, "the element “\(element.id)” changes when its type reads it and writes it again")
      }
    }
    return EncodedJSON(.object(object))
  }

  /// Refuses an element whose members do not fit the schema. Runs on each write, so it copies no
  /// member's declaration.
  private func checkBounds(of object: JSONObject) throws(Refusal) {
    var faults: [FieldFault] = []
    for place in writable.indices {
      let found = writable[place].faults(of: object[writable[place].name])
      if !found.isEmpty { faults += found.map { FieldFault($0.moved(under: writable[place].name)) } }
    }
    if !faults.isEmpty { throw .invalid(faults) }
  }

  private func object(of element: Element, _ module: String) throws -> JSONObject {
    let json: JSON
    do {
      json = try JSON(encoding: element)
    } catch {
      throw ModuleError(module, "the element “\(element.id)” cannot be encoded: \(error)")
    }
    guard let object = json.objectValue else {
      throw ModuleError(module, "the element “\(element.id)” is not encoded as an object")
    }
    return object
  }

  /// Sets a member that the server sets, at its place among the other members.
  private func set(_ value: JSON, _ name: String, in object: inout JSONObject) {
    if object.contains(name: name) {
      object[name] = value
      return
    }
    let all = object
    object = JSONObject()
    for known in ["id"] + members.map(\.name) {
      let found: JSON? = known == name ? value : all[known]
      if let found { object.append(found, named: known) }
    }
  }
}

extension JSONObject {
  /// Whether both have the same members in the same order.
  fileprivate func hasSameMembers(as other: JSONObject) -> Bool {
    count == other.count && indices.allSatisfy { other.hasMember(self[$0].name, equalTo: self[$0].value, at: $0) }
  }
}

extension FieldFault {
  init(_ fault: ValueFault) {
    self.init(pointer: JSONPointer(tokens: fault.path).description, detail: fault.detail)
  }

  /// The fault of a value that a type cannot read, although it fits the schema.
  init(_ error: any Error) {
    let context: DecodingError.Context? =
      switch error {
      case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context),
        DecodingError.valueNotFound(_, let context):
        context
      case DecodingError.keyNotFound(_, let context): context
      default: nil
      }
    let path = context?.codingPath.map(\.stringValue) ?? []
    self.init(pointer: JSONPointer(tokens: path).description, detail: context?.debugDescription ?? "It cannot be read.")
  }
}
