import LockstepJSON

/// The form of elements without a Swift type: those of favorites and of declared lists.
package struct PlainForm: ElementForm {
  /// One element in a sentence, such as “favorite”.
  private let noun: String
  let members: ElementMembers
  /// Checks the member `data`.
  private let check: ValueCheck?

  /// Elements with these members. `check` checks the member `data`.
  package init(_ noun: String, _ members: [ShapeMember], check: ValueCheck? = nil) {
    (self.noun, self.members, self.check) = (noun, ElementMembers(members), check)
  }

  private static let checked = "data"

  // MARK: Schemas

  /// Leaves out the bounds and the check, because an element may be older than they are.
  var schema: JSON {
    let members = members.all.map { member in
      var member = member
      member.shape.bytes = nil
      return member.description(isClosed: false)
    }
    return .schema(ofObject: [SchemaMember(name: "id", schema: .textSchema)] + members)
  }

  /// The JSON Schema of an element that keeps to the check.
  package var writtenSchema: JSON {
    guard let check, var element = schema.objectValue, var members = element["properties"]?.objectValue else {
      return schema
    }
    members[Self.checked] = check.description
    element["properties"] = .object(members)
    if check.refusesNull { element["required"] = .array((element["required"]?.arrayValue ?? []) + ["data"]) }
    return .object(element)
  }

  func canRead(_ encoded: [UInt8]) -> Bool {
    guard let object = JSON(trusting: encoded).objectValue, object["id"]?.stringValue != nil else { return false }
    return members.all.allSatisfy { !$0.isRequired || object.contains(name: $0.name) }
  }

  // MARK: Actions

  func payload(of action: StandardAction) -> [SchemaMember] {
    let members = members.payload(isPatch: action == .update)
    guard let check else { return members }
    return members.map { member in
      guard member.name == Self.checked else { return member }
      return SchemaMember(
        name: member.name,
        schema: action == .update ? Self.patchSchema : check.description,
        isRequired: action == .add && check.refusesNull
      )
    }
  }

  /// A merge patch of valid data may be any JSON.
  private static let patchSchema: JSON = [
    "description": "A merge patch (RFC 7396). The server checks its result by the schema of the data."
  ]

  func content(_ reader: inout PayloadReader) -> ElementContent {
    let members = members.content(&reader)
    // Missing data is null.
    let faults = check?.faults(of: members[Self.checked] ?? .null, reader.budget) ?? []
    return ElementContent(
      members: members,
      faults: faults.map { FieldFault(pointer: "/\(Self.checked)\($0.pointer)", detail: $0.detail) }
    )
  }

  /// The bounds of an element also hold for a merge patch.
  func patch(_ reader: inout PayloadReader) -> JSONObject {
    _ = members.content(&reader)
    return members.patch(&reader)
  }

  /// A patch may name only members that clients may change, even to remove them. Otherwise the
  /// server would ignore a misspelled name.
  func content(
    ofPatched patched: JSON,
    removed: [String],
    _ budget: WorkBudget?
  ) throws(Refusal) -> JSONObject {
    var reader = PayloadReader(patched, budget: budget)
    let content = content(&reader)
    reader.add(content.faults)
    for name in (patched.objectValue?.names ?? []) + removed where !isWritable(name) {
      reader.add(name, "Only \(writableNames) can be changed.")
    }
    try reader.finish()
    return content.members
  }

  /// The members of a patch without those that only the server sets. A client may send them back.
  func withoutReadOnly(_ patch: JSONObject) -> JSONObject {
    var patch = patch
    for member in members.all where member.isReadOnly { patch.removeValue(named: member.name) }
    return patch
  }

  private func isWritable(_ name: String) -> Bool { members.writable.contains { $0.name.hasSameBytes(as: name) } }

  private var writableNames: String {
    let names = members.writable.map(\.name)
    return names.count < 2
      ? names.joined() : names.dropLast().joined(separator: ", ") + " and " + names[names.count - 1]
  }

  func missing(_ id: String) -> Refusal { .notFound("There is no \(noun) with the id “\(id)”.") }
}

extension ShapeMember {
  /// A text that an element may lack, with at most this many bytes.
  package static func text(_ name: String, upTo bytes: Int) -> ShapeMember { bounded(name, .text, bytes) }

  /// Any JSON but null, which an element may lack, with at most this many bytes.
  package static func json(_ name: String, upTo bytes: Int) -> ShapeMember { bounded(name, .any, bytes) }

  /// The time at which the element was added.
  package static func added(_ name: String) -> ShapeMember { time(name, .added) }

  /// The time at which the element was added or changed last.
  package static func changed(_ name: String) -> ShapeMember { time(name, .changed) }

  private static func bounded(_ name: String, _ kind: ValueShape.Kind, _ bytes: Int) -> ShapeMember {
    var shape = ValueShape(kind)
    shape.bytes = ByteBounds(least: nil, most: bytes)
    return ShapeMember(name: name, shape: shape, isRequired: false)
  }

  private static func time(_ name: String, _ time: SetTime) -> ShapeMember {
    ShapeMember(name: name, shape: ValueShape(.time), isRequired: true, isReadOnly: true, time: time)
  }
}
