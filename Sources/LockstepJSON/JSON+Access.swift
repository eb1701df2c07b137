extension JSON {
  /// Whether the value is `null`.
  public var isNull: Bool {
    if case .null = self { true } else { false }
  }

  /// The truth value, or nil when the value is of another type.
  public var boolValue: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The number as an `Int64`, or nil when it is no number or none that `Int64` holds exactly.
  /// A double without a fraction counts: what equals 1 is 1, however it was spelled.
  public var int64Value: Int64? {
    switch self {
    case .integer(let value): value
    case .unsigned(let value): Int64(exactly: value)
    case .double(let value): Int64(sameAs: value)
    default: nil
    }
  }

  /// The number as an `Int`, or nil when it is no number or none that `Int` holds exactly.
  public var intValue: Int? {
    int64Value.flatMap { Int(exactly: $0) }
  }

  /// The number as a `UInt64`, or nil when it is no number or none that `UInt64` holds exactly.
  public var uint64Value: UInt64? {
    switch self {
    case .integer(let value): UInt64(exactly: value)
    case .unsigned(let value): value
    case .double(let value): UInt64(sameAs: value)
    default: nil
    }
  }

  /// The number as the nearest double, or nil when the value is no number.
  public var doubleValue: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The string, or nil when the value is of another type.
  public var stringValue: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The elements, or nil when the value is no array.
  public var arrayValue: [JSON]? {
    if case .array(let elements) = self { elements } else { nil }
  }

  /// The object, or nil when the value is none.
  public var objectValue: JSONObject? {
    if case .object(let object) = self { object } else { nil }
  }

  /// The member with that name, or nil when there is none or the value is no object.
  public subscript(name: String) -> JSON? {
    if case .object(let object) = self { object[name] } else { nil }
  }

  /// The element at that place, or nil when there is none or the value is no array.
  public subscript(index: Int) -> JSON? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// What kind of value it is, for messages: `null`, `boolean`, `number`, `string`, `array` or `object`.
  public var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "boolean"
    case .integer, .unsigned, .double: "number"
    case .string: "string"
    case .array: "array"
    case .object: "object"
    }
  }

  /// Takes the object out and leaves null behind, so that whoever changes it is the only one to hold it and
  /// nothing is copied. (A pattern alone would leave a second reference in the value that is matched.)
  mutating func takeObject() -> JSONObject? {
    guard case .object(let object) = self else { return nil }
    self = .null
    return object
  }

  /// Takes the elements out and leaves null behind, for the same reason.
  mutating func takeElements() -> [JSON]? {
    guard case .array(let elements) = self else { return nil }
    self = .null
    return elements
  }
}
