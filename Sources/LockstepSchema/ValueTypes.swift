import LockstepJSON

/// A set of JSON Schema's types. An integer is also a number.
struct ValueTypes: OptionSet, Sendable {
  var rawValue: UInt8

  static let null = ValueTypes(rawValue: 1)
  static let boolean = ValueTypes(rawValue: 2)
  static let object = ValueTypes(rawValue: 4)
  static let array = ValueTypes(rawValue: 8)
  static let number = ValueTypes(rawValue: 16)
  static let string = ValueTypes(rawValue: 32)
  static let integer = ValueTypes(rawValue: 64)
  static let all = ValueTypes(rawValue: 127)
  /// The types of a whole number.
  private static let numberAndInteger = ValueTypes(rawValue: number.rawValue | integer.rawValue)

  /// Each type with its name, in the order of JSON Schema's specification.
  static let names: [(type: ValueTypes, name: String)] = [
    (.null, "null"), (.boolean, "boolean"), (.object, "object"), (.array, "array"), (.number, "number"),
    (.string, "string"), (.integer, "integer"),
  ]

  init(rawValue: UInt8) { self.rawValue = rawValue }

  init?(name: String) {
    guard let type = Self.names.first(where: { $0.name == name })?.type else { return nil }
    self = type
  }

  /// The types of a value. A double that is not finite is written as `null`, so it counts as null.
  @inline(__always)
  init(of value: JSON) {
    switch value {
    case .null: self = .null
    case .bool: self = .boolean
    case .integer, .unsigned: self = .numberAndInteger
    case .double(let double):
      self = double.isFinite ? (isWhole(double) ? .numberAndInteger : .number) : .null
    case .string: self = .string
    case .array: self = .array
    case .object: self = .object
    }
  }
}

/// Whether a finite double has no fraction. From 2^53 on, all doubles are whole.
private func isWhole(_ double: Double) -> Bool {
  double.magnitude >= 0x1p53 || Double(Int64(double)) == double
}
