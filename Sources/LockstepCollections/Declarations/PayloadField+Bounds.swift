import LockstepJSON

// Bounds are in bytes, but JSON Schema counts characters. So the server may refuse a text that the
// schema allows.

extension PayloadField<String> {
  /// A string whose number of UTF-8 bytes is in the range `bytes`.
  public static func text(_ name: String, bytes: ClosedRange<Int>) -> PayloadField {
    PayloadField([SchemaMember(name: name, schema: .textSchema(bytes))]) { reader, _ in
      reader.text(name).map { reader.checked($0, name, bytes) }
    }
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
    let schema = JSON.textSchema(bytes, orNull: true)
    return PayloadField([SchemaMember(name: name, schema: schema, isRequired: false)]) { reader, _ in
      .some(reader.nullable(name) { $0.text(name) }.map { reader.checked($0, name, bytes) })
    }
  }
}

extension PayloadField<Int> {
  /// A whole number within bounds.
  public static func whole(_ name: String, _ range: ClosedRange<Int>) -> PayloadField {
    PayloadField([SchemaMember(name: name, schema: .wholeSchema(range))]) { reader, _ in reader.whole(name, range) }
  }
}

extension PayloadField<Int?> {
  /// An optional whole number within bounds. `nil` if it is missing or null.
  public static func optionalWhole(_ name: String, _ range: ClosedRange<Int>) -> PayloadField {
    let schema = JSON.wholeSchema(range, orNull: true)
    return PayloadField([SchemaMember(name: name, schema: schema, isRequired: false)]) { reader, _ in
      .some(reader.nullable(name) { $0.whole(name, range) })
    }
  }
}

extension PayloadField<Bool?> {
  /// An optional truth value. `nil` if it is missing or null.
  public static func optionalFlag(_ name: String) -> PayloadField {
    let schema: JSON = ["type": ["boolean", "null"]]
    return PayloadField([SchemaMember(name: name, schema: schema, isRequired: false)]) { reader, _ in
      .some(reader.nullable(name) { $0.flag(name) })
    }
  }
}

extension PayloadField<JSON> {
  /// Any JSON value with at most this many bytes, encoded without spaces.
  public static func json(_ name: String, bytes: Int) -> PayloadField {
    PayloadField([SchemaMember(name: name, schema: [:])]) { reader, _ in
      let value = reader.required(name)
      if let count = value?.encodedByteCount, count > bytes {
        reader.add(name, "It must have at most \(bytes) bytes as JSON, and has \(count).")
      }
      return value
    }
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

extension PayloadReader {
  /// Reads a member with `read`. Returns `nil` if the member is missing or null.
  fileprivate mutating func nullable<Value>(_ name: String, _ read: (inout PayloadReader) -> Value?) -> Value? {
    guard let value = value(name), !value.isNull else { return nil }
    return read(&self)
  }

  fileprivate mutating func whole(_ name: String, _ range: ClosedRange<Int>) -> Int? {
    guard let value = required(name) else { return nil }
    guard let number = value.intValue, range.contains(number) else {
      add(name, "It must be a whole number from \(range.lowerBound) to \(range.upperBound).")
      return nil
    }
    return number
  }

  fileprivate mutating func checked(_ text: String, _ name: String, _ bytes: ClosedRange<Int>) -> String {
    let count = text.utf8.count
    if !bytes.contains(count) {
      add(name, "It must have \(bytes.lowerBound) to \(bytes.upperBound) bytes, and has \(count).")
    }
    return text
  }
}

extension JSON {
  fileprivate static func textSchema(_ bytes: ClosedRange<Int>, orNull: Bool = false) -> JSON {
    [
      "type": orNull ? ["string", "null"] : "string", "minLength": JSON(min(1, bytes.lowerBound)),
      "maxLength": JSON(bytes.upperBound),
    ]
  }

  fileprivate static func wholeSchema(_ range: ClosedRange<Int>, orNull: Bool = false) -> JSON {
    [
      "type": orNull ? ["integer", "null"] : "integer", "minimum": JSON(range.lowerBound),
      "maximum": JSON(range.upperBound),
    ]
  }
}
