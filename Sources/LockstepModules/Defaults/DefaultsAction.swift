import LockstepCollections
import LockstepJSON

/// An action on one suite of a user's defaults.
package enum DefaultsAction: Sendable {
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

extension DefaultsAction {
  /// The suite of an action that names no suite.
  package static let standardSuite = "standard"

  package static func collection(_ suite: String) -> CollectionName { CollectionName("defaults", part: suite) }

  func record(suite: String) -> String {
    switch self {
    case .set(let key, let value): Self.record("set", suite, (#","key":"#, .string(key)), encoded: value.encoded)
    case .remove(let key): Self.record("remove", suite, (#","key":"#, .string(key)))
    case .merge(let values): Self.record("merge", suite, (#","values":"#, .object(values)))
    case .mergePatch(let patch): Self.record("mergePatch", suite, (#","patch":"#, .object(patch)))
    case .patch(let patch): Self.record("patch", suite, (#","operations":"#, patch.json))
    case .increment(let key, let by): Self.record("increment", suite, (#","key":"#, .string(key)), (#","by":"#, by))
    case .clear: Self.record("clear", suite)
    }
  }

  /// Builds the text directly, because each write of user defaults needs it.
  private static func record(
    _ type: String,
    _ suite: String,
    _ payload: (name: String, value: JSON)...,
    encoded value: [UInt8]? = nil
  ) -> String {
    var bytes = Array(#"{"type":""#.utf8)
    bytes.reserveCapacity(256)
    bytes.append(contentsOf: type.utf8)
    bytes.append(contentsOf: #"","payload":{"suite":"#.utf8)
    bytes.append(json: suite)
    for member in payload {
      bytes.append(contentsOf: member.name.utf8)
      bytes.append(json: member.value)
    }
    if let value {
      bytes.append(contentsOf: #","value":"#.utf8)
      bytes.append(contentsOf: value)
    }
    bytes.append(contentsOf: "}}".utf8)
    return String(decoding: bytes, as: UTF8.self)
  }
}

struct SuiteAction: Sendable {
  let suite: String
  let action: DefaultsAction

  static let cases: [ActionCase<SuiteAction>] = [
    ActionCase("set", .suite, .name("key"), .defaultValue) { suite, key, value in
      SuiteAction(suite: suite, action: .set(key: key, value: EncodedJSON(value)))
    },
    ActionCase("remove", .suite, .name("key")) { SuiteAction(suite: $0, action: .remove(key: $1)) },
    ActionCase("merge", .suite, .defaultValues) { SuiteAction(suite: $0, action: .merge($1)) },
    ActionCase("increment", .suite, .name("key"), .summand) { suite, key, by in
      SuiteAction(suite: suite, action: .increment(key: key, by: by))
    },
    ActionCase("clear", .suite) { SuiteAction(suite: $0, action: .clear) },
  ]
}

package enum SuiteName {
  /// The fault of a name, or `nil` if the name is valid.
  package static func fault(of text: String) -> String? {
    let isPlain = text.utf8.allSatisfy { $0.isWordCharacter || $0 == UInt8(ascii: ".") }
    return isPlain && (1...128).contains(text.utf8.count)
      ? nil : "The name of a suite has 1 to 128 of the characters A-Z a-z 0-9 . _ -"
  }
}

package enum DefaultValue {
  package static let maximumBytes = 256 * 1024

  /// The fault of a value, or `nil` if the value is valid.
  package static func fault(of value: JSON) -> String? {
    if value.isNull { return "A value cannot be null; to remove a value, delete it." }
    return fault(ofEncoded: value.encoded())
  }

  static func fault(ofEncoded value: [UInt8]) -> String? {
    let size = value.count
    return size <= maximumBytes ? nil : "A value must have at most \(maximumBytes) bytes as JSON, and has \(size)."
  }
}

extension PayloadField<String> {
  fileprivate static var suite: PayloadField {
    let schema: JSON = [
      "type": ["string", "null"], "pattern": "^[A-Za-z0-9._-]{1,128}$",
      "default": .string(DefaultsAction.standardSuite),
    ]
    return PayloadField([SchemaMember(name: "suite", schema: schema, isRequired: false)]) { reader, _ in reader.suite()
    }
  }
}

extension PayloadField<JSON> {
  fileprivate static var defaultValue: PayloadField {
    PayloadField([SchemaMember(name: "value", schema: .valueSchema)]) { reader, _ in
      let value = reader.required("value")
      if let value, let wrong = DefaultValue.fault(of: value) { reader.add("value", wrong) }
      return value
    }
  }

  fileprivate static var summand: PayloadField {
    PayloadField([SchemaMember(name: "by", schema: ["type": "number"])]) { reader, _ in
      let by = reader.required("by")
      if let by, by.doubleValue == nil { reader.add("by", "It must be a number, and is \(by.typeName).") }
      return by
    }
  }
}

extension PayloadField<JSONObject> {
  /// The new values of several keys. Null removes a key.
  fileprivate static var defaultValues: PayloadField {
    PayloadField([SchemaMember(name: "values", schema: .changedValuesSchema)]) { reader, _ in
      let values = reader.required("values")
      reader.checkMembers(of: values, at: "values")
      return values?.objectValue
    }
  }
}

extension PayloadReader {
  fileprivate mutating func suite() -> String {
    guard let value = value("suite"), !value.isNull else { return DefaultsAction.standardSuite }
    guard let name = value.stringValue else {
      add("suite", "It must be a string, and is \(value.typeName).")
      return DefaultsAction.standardSuite
    }
    if let wrong = SuiteName.fault(of: name) { add("suite", wrong) }
    return name
  }

  fileprivate mutating func checkMembers(of values: JSON?, at name: String) {
    guard let values else { return }
    guard let members = values.objectValue else {
      return add(name, "It must be an object with keys and their values, and is \(values.typeName).")
    }
    for (key, value) in members {
      if let wrong = ElementName.fault(of: key) { add([name, key], wrong) }
      if !value.isNull, let wrong = DefaultValue.fault(of: value) { add([name, key], wrong) }
    }
  }
}
