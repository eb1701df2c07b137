import LockstepJSON
import LockstepTime

extension PayloadField<Int64> {
  /// Any whole number of 64 bits, also a negative one.
  public static func signed(_ name: String) -> PayloadField {
    PayloadField(name, ValueShape(.whole(least: JSON(Int64.min), greatest: JSON(Int64.max)))) { $0.int64Value }
  }
}

extension PayloadField<Double> {
  /// A number within bounds, which may have a fraction.
  public static func number(_ name: String, _ range: ClosedRange<Double>) -> PayloadField {
    var shape = ValueShape(.number)
    shape.range = .number(range)
    return PayloadField(name, shape) { $0.doubleValue }
  }
}

extension PayloadField<DecimalNumber> {
  /// An exact decimal number within bounds. In JSON it is a string, such as `"12.50"`.
  public static func decimal(_ name: String, _ range: ClosedRange<DecimalNumber>) -> PayloadField {
    var shape = ValueShape(.decimal)
    shape.range = .decimal(range)
    return PayloadField(name, shape) { $0.stringValue.flatMap { DecimalNumber($0) } }
  }
}

extension PayloadField<Timestamp> {
  /// A time in RFC 3339. Any valid spelling and offset is accepted.
  public static func time(_ name: String) -> PayloadField {
    PayloadField(name, ValueShape(.time)) { $0.stringValue.flatMap { Timestamp($0) } }
  }
}

extension PayloadField<[String]> {
  /// A list of strings. `bytes` is the number of UTF-8 bytes of each string.
  public static func texts(_ name: String, count: ClosedRange<Int>, bytes: ClosedRange<Int>) -> PayloadField {
    var text = ValueShape(.text)
    text.bytes = ByteBounds(bytes)
    var shape = ValueShape(.list(text))
    shape.count = count
    return PayloadField(name, shape) { $0.arrayValue?.compactMap(\.stringValue) }
  }
}

extension PayloadField where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  /// One of the cases of an enumeration.
  public static func choice(_ name: String, of type: Value.Type = Value.self) -> PayloadField {
    PayloadField(name, ValueShape(.choice(type.allCases.map { .string($0.rawValue) }))) {
      $0.stringValue.flatMap { Value(rawValue: $0) }
    }
  }
}

extension PayloadField {
  /// The same field, which may be missing or null. Its value is then `nil`.
  public static func optional<Wrapped: Sendable>(_ field: PayloadField<Wrapped>) -> PayloadField
  where Value == Wrapped? {
    let members = field.members.map { SchemaMember(name: $0.name, schema: $0.schema.orNull, isRequired: false) }
    return PayloadField(members) { [read = field.read] reader, network in
      if members.allSatisfy({ reader.value($0.name)?.isNull ?? true }) { return .some(nil) }
      return read(&reader, network).map { .some($0) }
    }
  }

  /// A member whose value must have this form. `value` converts a value of the form.
  init(_ name: String, _ shape: ValueShape, _ value: @escaping @Sendable (JSON) -> Value?) {
    self.init([SchemaMember(name: name, schema: shape.schema(isClosed: true))]) { reader, _ in
      guard let json = reader.required(name) else { return nil }
      let faults = shape.faults(of: json)
      for fault in faults { reader.add([name] + fault.path, fault.detail) }
      return faults.isEmpty ? value(json) : nil
    }
  }
}
