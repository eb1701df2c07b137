import LockstepCollections
import LockstepJSON

/// An action on a map of keys and values: a suite of a user's defaults, or a declared map.
package enum ValuesAction: Sendable {
  case set(key: String, value: EncodedJSON)
  case remove(key: String)
  /// Replaces the value of each key. Null removes the key.
  case merge(JSONObject)
  /// A merge patch at any depth (RFC 7396).
  case mergePatch(JSONObject)
  /// A JSON patch of the values that the user has set (RFC 6902).
  case patch(PatchDocument)
  case increment(key: String, by: JSON)
  case clear
}

/// An action with the suite that its payload names; nil in a map without suites.
struct SuiteAction: Sendable {
  let suite: String?
  let action: ValuesAction

  /// The actions that clients can send. `suite` reads the suite from a payload.
  static func cases(_ rules: ValueRules, _ suite: PayloadField<String?>) -> [ActionCase<SuiteAction>] {
    [
      ActionCase("set", suite, .name("key"), .value(rules)) { suite, key, value in
        SuiteAction(suite: suite, action: .set(key: key, value: EncodedJSON(value)))
      },
      ActionCase("remove", suite, .name("key")) { SuiteAction(suite: $0, action: .remove(key: $1)) },
      ActionCase("merge", suite, .values(rules)) { SuiteAction(suite: $0, action: .merge($1)) },
      ActionCase("increment", suite, .name("key"), .summand) { suite, key, by in
        SuiteAction(suite: suite, action: .increment(key: key, by: by))
      },
      ActionCase("clear", suite) { SuiteAction(suite: $0, action: .clear) },
    ]
  }
}

extension PayloadField<String?> {
  /// For a map without suites. Reads no member.
  static var noSuite: PayloadField { PayloadField([]) { _, _ in .some(nil) } }
}

extension ValuesAction {
  /// The action as the journal shows it. `suite` is nil for a map without suites.
  func record(suite: String?) -> String {
    switch self {
    case .set(let key, let value): Self.record("set", suite, ("key", .string(key)), encoded: value.encoded)
    case .remove(let key): Self.record("remove", suite, ("key", .string(key)))
    case .merge(let values): Self.record("merge", suite, ("values", .object(values)))
    case .mergePatch(let patch): Self.record("mergePatch", suite, ("patch", .object(patch)))
    case .patch(let patch): Self.record("patch", suite, ("operations", patch.json))
    case .increment(let key, let by): Self.record("increment", suite, ("key", .string(key)), ("by", by))
    case .clear: Self.record("clear", suite)
    }
  }

  /// Builds the text directly, because each write of user defaults needs it.
  private static func record(
    _ type: String,
    _ suite: String?,
    _ payload: (name: String, value: JSON)...,
    encoded value: [UInt8]? = nil
  ) -> String {
    var bytes = Array(#"{"type":""#.utf8)
    bytes.reserveCapacity(256)
    bytes.append(contentsOf: type.utf8)
    bytes.append(contentsOf: #"","payload":{"#.utf8)
    var isFirst = true
    func begin(_ name: String) {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      bytes.append(UInt8(ascii: "\""))
      bytes.append(contentsOf: name.utf8)
      bytes.append(contentsOf: #"":"#.utf8)
    }
    if let suite {
      begin("suite")
      bytes.append(json: suite)
    }
    for member in payload {
      begin(member.name)
      bytes.append(json: member.value)
    }
    if let value {
      begin("value")
      bytes.append(contentsOf: value)
    }
    bytes.append(contentsOf: "}}".utf8)
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The rules for the values of a map.
package struct ValueRules: Sendable {
  package static let maximumBytes = 256 * 1024

  /// Any value except null.
  package static let any = ValueRules(check: nil)

  /// The check of a declared schema.
  let check: ValueCheck?

  /// The JSON Schema of a value, for descriptions.
  package var schema: JSON { check?.description ?? .valueSchema }

  package var hasSchema: Bool { check != nil }

  /// The JSON Schema of new values by key, for descriptions. Null removes a key.
  package var changesSchema: JSON {
    guard hasSchema, var changes = JSON.changedValuesSchema.objectValue else { return .changedValuesSchema }
    changes["additionalProperties"] = ["anyOf": [schema, ["type": "null"]]]
    return .object(changes)
  }

  /// All faults of a value, with pointers that begin at it.
  package func faults(of value: JSON, _ budget: WorkBudget?) -> [FieldFault] {
    if let wrong = Self.fault(of: value) { return [FieldFault(pointer: "", detail: wrong)] }
    return check?.faults(of: value, budget) ?? []
  }

  /// Whether a value whose text has this length can have a fault.
  package func canRefuse(_ value: JSON, ofBytes count: Int) -> Bool {
    // An encoded value is at most eight times as long as its text in a request.
    check != nil || value.isNull || count > Self.maximumBytes / 8
  }

  static let ofNull = "A value cannot be null; to remove a value, delete it."

  private static func fault(of value: JSON) -> String? {
    value.isNull ? ofNull : fault(ofBytes: value.encodedByteCount)
  }

  static func fault(ofBytes size: Int) -> String? {
    size <= maximumBytes ? nil : "A value must have at most \(maximumBytes) bytes as JSON, and has \(size)."
  }
}

extension PayloadField<JSON> {
  static func value(_ rules: ValueRules) -> PayloadField {
    PayloadField([SchemaMember(name: "value", schema: rules.schema)]) { reader, _ in
      let value = reader.required("value")
      if let value { reader.add(faultsOf: value, rules, at: ["value"]) }
      return value
    }
  }

  static var summand: PayloadField {
    PayloadField([SchemaMember(name: "by", schema: ["type": "number"])]) { reader, _ in
      let by = reader.required("by")
      if let by, by.doubleValue == nil { reader.add("by", "It must be a number, and is \(by.typeName).") }
      return by
    }
  }
}

extension PayloadField<JSONObject> {
  /// The new values of several keys. Null removes a key.
  static func values(_ rules: ValueRules) -> PayloadField {
    PayloadField([SchemaMember(name: "values", schema: rules.changesSchema)]) { reader, _ in
      let values = reader.required("values")
      reader.checkMembers(of: values, rules, at: "values")
      return values?.objectValue
    }
  }
}

extension PayloadReader {
  fileprivate mutating func add(faultsOf value: JSON, _ rules: ValueRules, at path: [String]) {
    let start = JSONPointer(tokens: path).description
    add(rules.faults(of: value, budget).map { FieldFault(pointer: start + $0.pointer, detail: $0.detail) })
  }

  fileprivate mutating func checkMembers(of values: JSON?, _ rules: ValueRules, at name: String) {
    guard let values else { return }
    guard let members = values.objectValue else {
      return add(name, "It must be an object with keys and their values, and is \(values.typeName).")
    }
    for (key, value) in members {
      if let wrong = ElementName.fault(of: key) { add([name, key], wrong) }
      if !value.isNull { add(faultsOf: value, rules, at: [name, key]) }
    }
  }
}
