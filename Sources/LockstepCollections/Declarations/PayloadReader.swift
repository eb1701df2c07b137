import LockstepJSON

/// Reads a payload member by member and collects all faults, so that one response names all of
/// them.
///
/// A member that no code reads is a fault. Otherwise a client would not notice a misspelled name.
@usableFromInline
package struct PayloadReader {
  private let payload: JSONObject
  /// The names of the members that were read or ignored.
  private var known: [String] = []
  private var takesAll = false
  private let isObject: Bool
  package private(set) var faults: [FieldFault] = []
  /// The budget of the request. Nil: each value may take as much work as it needs, up to its own limit.
  package let budget: WorkBudget?

  @usableFromInline
  package init(_ payload: JSON, budget: WorkBudget? = nil) {
    self.budget = budget
    self.payload = payload.objectValue ?? JSONObject()
    // Most actions have at most 8 members. Growing the array step by step would take longer.
    known.reserveCapacity(8)
    isObject = payload.objectValue != nil
    if !isObject {
      faults.append(FieldFault(pointer: "", detail: "It must be an object, and is \(payload.typeName)."))
    }
  }

  /// The member's value, or `nil` if it is missing.
  package mutating func value(_ name: String) -> JSON? {
    known.append(name)
    return payload[name]
  }

  /// Ignores members that the server sets. A client may send them back unchanged.
  package mutating func passOver(_ names: String...) { known += names }

  /// All members that have not been read yet.
  mutating func rest() -> JSONObject {
    takesAll = true
    return JSONObject(payload.filter { isUnread($0.name) }.map { ($0.name, $0.value) })
  }

  package mutating func required(_ name: String) -> JSON? {
    let value = value(name)
    if value == nil, isObject { add(name, "It is missing.") }
    return value
  }

  mutating func name(_ name: String) -> String? {
    guard let text = text(name) else { return nil }
    guard let wrong = ElementName.fault(of: text) else { return text }
    add(name, wrong)
    return nil
  }

  package mutating func text(_ name: String) -> String? {
    guard let value = required(name) else { return nil }
    if value.stringValue == nil { add(name, "It must be a string, and is \(value.typeName).") }
    return value.stringValue
  }

  package mutating func flag(_ name: String) -> Bool? {
    guard let value = required(name) else { return nil }
    if value.boolValue == nil { add(name, "It must be true or false, and is \(value.typeName).") }
    return value.boolValue
  }

  /// An optional string of any length. `nil` if it is missing or null.
  package mutating func nullableText(_ name: String) -> String? { string(name, upTo: .max) }

  /// A string with at most `bound` bytes. An optional string is `nil` if it is missing or null.
  package mutating func string(_ name: String, upTo bound: Int, isRequired: Bool = false) -> String? {
    guard let value = isRequired ? required(name) : value(name), isRequired || !value.isNull else { return nil }
    guard let text = value.stringValue else {
      add(name, "It must be a string, and is \(value.typeName).")
      return nil
    }
    guard text.utf8.count <= bound else {
      add(name, "It must have at most \(bound) bytes, and has \(text.utf8.count).")
      return nil
    }
    return text
  }

  /// An index in a list. An optional index is `nil` if it is missing or null.
  package mutating func index(_ name: String, isRequired: Bool = false) -> Int? {
    guard let value = isRequired ? required(name) : value(name), isRequired || !value.isNull else { return nil }
    guard let number = value.uint64Value else {
      add(name, "It must be a whole number, at least 0.")
      return nil
    }
    return Int(clamping: number)
  }

  /// Adds faults that other code has found. Leaves out members that already have a fault.
  package mutating func add(_ others: [FieldFault]) {
    guard isObject, !others.isEmpty else { return }
    let known = Set(faults.map(\.pointer.exact))
    faults += others.filter { !known.contains($0.pointer.exact) }
  }

  /// Adds the faults of a refused part. Throws a refusal for another reason.
  package mutating func add(_ refusal: Refusal, under pointer: String) throws(Refusal) {
    guard case .invalid(let faults) = refusal.moved(under: pointer) else { throw refusal }
    add(faults)
  }

  package mutating func add(_ name: String, _ detail: String) { add([name], detail) }

  package mutating func add(_ path: [String], _ detail: String) {
    faults.append(FieldFault(pointer: JSONPointer(tokens: path).description, detail: detail))
  }

  /// Throws all faults. Call this after reading all members that the payload may have.
  @usableFromInline
  package func finish() throws(Refusal) {
    let faults = faults + faultsOfUnread
    if !faults.isEmpty { throw .invalid(faults) }
  }

  /// A refusal with all faults. Like `finish`, only after reading all members.
  package var refusal: Refusal { .invalid(faults + faultsOfUnread) }

  /// The most faults for members that were not read. A response does not list more faults.
  private static let mostFaultsOfUnread = 100

  /// A fault for each member that was not read and has no other fault, up to `mostFaultsOfUnread`.
  private var faultsOfUnread: [FieldFault] {
    let unread = takesAll ? [] : payload.names(where: isUnread)
    guard !unread.isEmpty else { return [] }
    let pointers = Set(faults.map(\.pointer.exact))
    return Array(
      unread.lazy.map { FieldFault(pointer: JSONPointer(tokens: [$0]).description, detail: Self.unknown) }
        .filter { !pointers.contains($0.pointer.exact) }.prefix(Self.mostFaultsOfUnread)
    )
  }

  // `known` is short, so searching it is faster than making a set.
  private func isUnread(_ name: String) -> Bool { !known.contains { $0.hasSameBytes(as: name) } }

  package static let unknown = "This member is not allowed here. Check its name."
}

/// The rules for names that clients choose: ids of list elements and keys of map values.
package enum ElementName {
  /// The fault of a name, or `nil` if the name is valid.
  package static func fault(of text: String) -> String? {
    let count = text.utf8.count
    guard count >= 1 else { return "It is empty; it must have 1 to 256 bytes." }
    guard count <= 256 else { return "It must have 1 to 256 bytes, and has \(count)." }
    // Printable ASCII needs no lookup in the Unicode tables.
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return nil }
    let hasControls = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return hasControls ? "It contains a control character, which is not allowed." : nil
  }
}
