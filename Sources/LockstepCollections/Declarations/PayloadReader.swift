import LockstepJSON

/// Takes a payload apart and gathers all that is wrong with it, so that a client hears of every fault at once.
///
/// A member that nobody asks for is a fault: it may be a misspelled one, and would be lost in silence.
package struct PayloadReader {
  private let payload: JSONObject
  /// The members that were asked for.
  private var known: [String] = []
  private let isObject: Bool
  package private(set) var faults: [FieldFault] = []

  /// A reader of an object; anything else is a fault of its own, and the only one.
  package init(_ payload: JSON) {
    self.payload = payload.objectValue ?? JSONObject()
    isObject = payload.objectValue != nil
    if !isObject {
      faults.append(FieldFault(pointer: "", detail: "It must be an object, and is \(payload.typeName)."))
    }
  }

  /// The member as it is; nil where it isn't there.
  package mutating func value(_ name: String) -> JSON? {
    known.append(name)
    return payload[name]
  }

  /// Members that say what the server says, and which a client may send back as it got them: nothing is done with them.
  package mutating func passOver(_ names: String...) { known += names }

  /// All members that were not asked for yet.
  mutating func rest() -> JSONObject {
    let names = Set(known.map { ElementKey($0) })
    let rest = payload.filter { !names.contains(ElementKey($0.name)) }
    known += rest.map(\.name)
    return JSONObject(rest.map { ($0.name, $0.value) })
  }

  /// A member that must be there.
  package mutating func required(_ name: String) -> JSON? {
    let value = value(name)
    if value == nil, isObject { add(name, "It is missing.") }
    return value
  }

  /// An id or a key, which must be there.
  mutating func name(_ name: String) -> String? {
    guard let value = required(name) else { return nil }
    guard let text = value.stringValue else {
      add(name, "It must be a string, and is \(value.typeName).")
      return nil
    }
    if let wrong = ElementName.fault(of: text) {
      add(name, wrong)
      return nil
    }
    return text
  }

  /// A string that must be there.
  package mutating func text(_ name: String) -> String? {
    guard let value = required(name) else { return nil }
    if value.stringValue == nil { add(name, "It must be a string, and is \(value.typeName).") }
    return value.stringValue
  }

  /// A truth value that must be there.
  mutating func flag(_ name: String) -> Bool? {
    guard let value = required(name) else { return nil }
    if value.boolValue == nil { add(name, "It must be true or false, and is \(value.typeName).") }
    return value.boolValue
  }

  /// A string of any length; nil where it isn't there or null.
  package mutating func nullableText(_ name: String) -> String? { string(name, upTo: .max) }

  /// A string; nil where it isn't there or null.
  package mutating func string(_ name: String, upTo bound: Int) -> String? {
    guard let value = value(name), !value.isNull else { return nil }
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

  /// A place in a list; nil where it isn't there or null.
  package mutating func index(_ name: String, isRequired: Bool = false) -> Int? {
    guard let value = isRequired ? required(name) : value(name), isRequired || !value.isNull else { return nil }
    guard let number = value.uint64Value else {
      add(name, "It must be a whole number from 0 on.")
      return nil
    }
    return Int(clamping: number)
  }

  /// Adds faults that were found elsewhere, of members that nothing is known to be wrong with yet.
  package mutating func add(_ others: [FieldFault]) {
    guard isObject else { return }
    let known = Set(faults.map(\.pointer))
    faults += others.filter { !known.contains($0.pointer) }
  }

  /// Adds the faults of a refusal.
  mutating func add(_ refusal: Refusal) {
    if case .invalid(let others) = refusal { faults += others }
  }

  /// Adds a fault of a member.
  package mutating func add(_ name: String, _ detail: String) { add([name], detail) }

  /// Adds a fault further down.
  package mutating func add(_ path: [String], _ detail: String) {
    faults.append(FieldFault(pointer: JSONPointer(tokens: path).description, detail: detail))
  }

  /// Throws all that was found, once all members were asked for that may be there.
  package func finish() throws(Refusal) {
    let faults = faults + strangers
    if !faults.isEmpty { throw .invalid(faults) }
  }

  /// The members that nobody asked for, and that nothing else is known to be wrong with.
  private var strangers: [FieldFault] {
    let known = Set(known.map { ElementKey($0) })
    let told = Set(faults.map(\.pointer))
    return payload.filter { !known.contains(ElementKey($0.name)) }
      .map { FieldFault(pointer: JSONPointer(tokens: [$0.name]).description, detail: Self.unknown) }
      .filter { !told.contains($0.pointer) }
  }

  /// What is wrong with a member that isn't known.
  package static let unknown = "There is no such member here."
}

/// What the id of a favorite or the key of a default may be: clients choose them.
package enum ElementName {
  /// What is wrong with a name; nil when nothing is.
  package static func fault(of text: String) -> String? {
    let count = text.utf8.count
    guard count >= 1 else { return "It is empty; it must have 1 to 256 bytes." }
    guard count <= 256 else { return "It must have 1 to 256 bytes, and has \(count)." }
    // Plain ASCII is told without a look into Unicode's tables.
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return nil }
    let hasControls = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    return hasControls ? "It has a control character; none may be in it." : nil
  }
}
