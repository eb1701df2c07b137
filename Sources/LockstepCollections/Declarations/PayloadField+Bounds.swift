import LockstepJSON

// Bounds are in bytes, but JSON Schema counts characters. So the server may refuse a text that the
// schema allows.

extension PayloadField<String> {
  /// A string whose number of UTF-8 bytes is in the range `bytes`.
  public static func text(_ name: String, bytes: ClosedRange<Int>) -> PayloadField {
    PayloadField(name, .text, ByteBounds(bytes)) { $0.stringValue }
  }

  /// Text that a user is typing on a screen, valid or not. The limit of 4 KiB is far above any
  /// valid input, and low enough for thousands of screens.
  public static func typed(_ name: String) -> PayloadField { .text(name, bytes: 0...4_096) }

  /// Secret text that a user is typing, such as a password. Its schema says `writeOnly`: no state
  /// shows it.
  public static func secret(_ name: String) -> PayloadField {
    PayloadField([SchemaMember(name: name, schema: ["type": "string", "writeOnly": true])]) { reader, _ in
      reader.string(name, upTo: 4_096, isRequired: true)
    }
  }
}

extension PayloadField<String?> {
  /// An optional string, bounded like `text(_:bytes:)`. `nil` if it is missing or null.
  public static func optionalText(_ name: String, bytes: ClosedRange<Int>) -> PayloadField {
    .optional(.text(name, bytes: bytes))
  }
}

extension PayloadField<Int> {
  /// A whole number within bounds.
  public static func whole(_ name: String, _ range: ClosedRange<Int>) -> PayloadField {
    let schema: JSON = ["type": "integer", "minimum": JSON(range.lowerBound), "maximum": JSON(range.upperBound)]
    return PayloadField([SchemaMember(name: name, schema: schema)]) { reader, _ in reader.whole(name, range) }
  }
}

extension PayloadField<Int?> {
  /// An optional whole number within bounds. `nil` if it is missing or null.
  public static func optionalWhole(_ name: String, _ range: ClosedRange<Int>) -> PayloadField {
    .optional(.whole(name, range))
  }
}

extension PayloadField<Bool?> {
  /// An optional truth value. `nil` if it is missing or null.
  public static func optionalFlag(_ name: String) -> PayloadField {
    .optional(.flag(name))
  }
}

extension PayloadField<JSON> {
  /// Any JSON value with at most this many bytes, encoded without spaces.
  public static func json(_ name: String, bytes: Int) -> PayloadField {
    PayloadField(name, .any, ByteBounds(least: nil, most: bytes)) { $0 }
  }
}

extension PayloadField {
  /// The same field with another check. `fault` returns what is wrong with a value, or `nil` if the
  /// value is valid.
  public func checked(_ fault: @escaping @Sendable (Value) -> String?) -> PayloadField {
    let name = members.first?.name ?? ""
    return PayloadField(members) { [read] reader, network in
      let count = reader.faults.count
      guard let value = read(&reader, network) else { return nil }
      if reader.faults.count == count, let wrong = fault(value) { reader.add(name, wrong) }
      return value
    }
  }
}

extension PayloadField {
  fileprivate init(
    _ name: String,
    _ kind: ValueShape.Kind,
    _ bytes: ByteBounds,
    _ value: @escaping @Sendable (JSON) -> Value?
  ) {
    var shape = ValueShape(kind)
    shape.bytes = bytes
    self.init(name, shape, value)
  }
}

extension PayloadReader {
  fileprivate mutating func whole(_ name: String, _ range: ClosedRange<Int>) -> Int? {
    guard let value = required(name) else { return nil }
    guard let number = value.intValue, range.contains(number) else {
      add(name, "It must be a whole number from \(range.lowerBound) to \(range.upperBound).")
      return nil
    }
    return number
  }
}
