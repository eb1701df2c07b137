import LockstepJSON
import LockstepTime

/// The requirements of an element of a typed list.
public typealias ListContent = Codable & Equatable & Identifiable & Sendable

/// The form of elements of a Swift type: derived from the type's `Codable` code and from the
/// module's rules.
package struct ElementFormat<Element: ListContent>: ElementForm where Element.ID == String {
  let module: String
  let members: ElementMembers

  /// Throws an error for the module's author if the type has no schema, or if a rule does not fit.
  package init(_ rules: [ElementRule], of module: String) throws {
    let (shape, _) = try ShapeReader().read(Element.self)
    var members = try Self.members(of: shape)
    for rule in rules { try members.apply(rule) }
    let defaults = Self.defaults(in: rules)
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
    for member in members where member.isReadOnly && member.isRequired && member.time == nil {
      guard case .described = member.shape.kind else {
        throw ShapeError(
          path: [member.name],
          reason: "is only set by the server, so it needs a `default` or must be optional."
        )
      }
    }
    self.module = module
    self.members = ElementMembers(members, defaults: defaults)
  }

  /// The values of the rules `default`.
  static func defaults(in rules: [ElementRule]) -> JSONObject {
    JSONObject(
      rules.compactMap { rule in
        if case .fallback(let value) = rule.content { (rule.name, value) } else { nil }
      }
    )
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

  var schema: JSON {
    let members = members.all.map { $0.description(isClosed: false) }
    return .schema(ofObject: [SchemaMember(name: "id", schema: .nameSchema)] + members)
  }

  // MARK: Actions

  func payload(of action: StandardAction) -> [SchemaMember] { members.payload(isPatch: action == .update) }

  func content(_ reader: inout PayloadReader) -> ElementContent { ElementContent(members: members.content(&reader)) }

  /// The members are checked when the element is known.
  func patch(_ reader: inout PayloadReader) -> JSONObject { members.patch(&reader) }

  func content(
    ofPatched patched: JSON,
    removed: [String],
    _ budget: WorkBudget?
  ) throws(Refusal) -> JSONObject {
    guard let content = patched.objectValue else {
      throw .invalid("", "The patch must leave an object, and leaves \(patched.typeName).")
    }
    let faults = members.faults(of: content)
    if !faults.isEmpty { throw .invalid(faults) }
    return content
  }

  func missing(_ id: String) -> Refusal { .notFound("There is no element with the id “\(id)” in \(module).") }

  // MARK: Elements

  func decode(_ object: JSONObject) throws -> Element {
    try JSON.object(object).decoded(as: Element.self, withDefaults: members.defaults)
  }

  func canRead(_ encoded: [UInt8]) -> Bool {
    JSON(trusting: encoded).objectValue.map { (try? decode($0)) != nil } ?? false
  }

  /// Encodes an element for the store, with the times that the server sets. `old` is the present
  /// element with this id, and `proposal` what a client has proposed for it. Returns nil if nothing
  /// differs from the present element.
  func encoded(
    _ element: Element,
    old: JSONObject?,
    proposal: JSONObject?,
    now: Timestamp
  ) throws -> EncodedJSON? {
    var object = try object(of: element)
    members.keepTimes(of: old, in: &object, now: now)
    // If the element is written as it was checked and read, it is valid and stays the same.
    let isKnown = proposal.map { $0.hasSameMembers(as: object) } ?? false
    guard let changed = members.changed(object, from: old, now: now) else { return nil }
    if !isKnown {
      let faults = members.faults(of: members.content(of: changed))
      if !faults.isEmpty { throw Refusal.invalid(faults) }
      try checkStable(changed)
    }
    return EncodedJSON(.object(changed))
  }

  /// Refuses an element that changes when the type reads it and writes it again.
  func checkStable(_ object: JSONObject) throws {
    guard let again = try? self.object(of: decode(object)), again.hasSameMembers(as: object) else {
      let id = object["id"]?.stringValue ?? ""
      throw ModuleError(module, "the element “\(id)” changes when its type reads it and writes it again")
    }
  }

  private func object(of element: Element) throws -> JSONObject {
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
}

extension FieldFault {
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
