import LockstepJSON

// Fields that say how much they take. JSON Schema counts characters where the bound is one of bytes: what it lets pass may
// still be too long.

extension PayloadField<String> {
  /// A string of so many bytes of UTF-8.
  public static func text(_ name: String, bytes: ClosedRange<Int>) -> PayloadField {
    PayloadField([SchemaMember(name: name, schema: .textSchema(bytes))]) { reader, _ in
      reader.text(name).map { reader.checked($0, name, bytes) }
    }
  }
}

extension PayloadField<String> {
  /// What somebody has typed on a screen, right or wrong: up to 4 KiB, far more than any of it may have, and little enough for
  /// thousands of screens.
  package static func typed(_ name: String) -> PayloadField { .text(name, bytes: 0...4_096) }
}

extension PayloadField<String?> {
  /// A string of so many bytes of UTF-8; nil where it isn't there or null.
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
  /// A whole number within bounds; nil where it isn't there or null.
  public static func optionalWhole(_ name: String, _ range: ClosedRange<Int>) -> PayloadField {
    let schema = JSON.wholeSchema(range, orNull: true)
    return PayloadField([SchemaMember(name: name, schema: schema, isRequired: false)]) { reader, _ in
      .some(reader.nullable(name) { $0.whole(name, range) })
    }
  }
}

extension PayloadField<Bool?> {
  /// True or false; nil where it isn't there or null.
  public static func optionalFlag(_ name: String) -> PayloadField {
    let schema: JSON = ["type": ["boolean", "null"]]
    return PayloadField([SchemaMember(name: name, schema: schema, isRequired: false)]) { reader, _ in
      .some(reader.nullable(name) { $0.flag(name) })
    }
  }
}

extension PayloadField<JSON> {
  /// Any JSON of so many bytes at most, as it's written without spaces.
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
  /// The same field, of which only some values may be: `fault` says what is wrong with one, nil where nothing is.
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
  /// What `read` makes of a member; nil where it isn't there or null.
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
