import LockstepJSON
import LockstepTime

/// The JSON form of a Swift type: what the server checks in a value that a client sends, and the
/// schema that clients get. A `ShapeReader` derives it from the type's `Codable` code.
struct ValueShape: Sendable {
  indirect enum Kind: Sendable {
    /// Any JSON.
    case any
    case text
    case uuid
    /// One of these strings or whole numbers.
    case choice([JSON])
    case flag
    /// A whole number between the bounds of its type.
    case whole(least: JSON, greatest: JSON)
    case number
    case decimal
    case time
    case list(ValueShape)
    /// An object whose names clients choose.
    case dictionary(ValueShape)
    case object([ShapeMember])
    /// A type that describes itself. Only decoding checks its values.
    case described(JSON)
  }

  var kind: Kind
  var isNullable = false
  /// The number of UTF-8 bytes of a text, or of any JSON.
  var bytes: ByteBounds?
  /// The number of elements of a list or a dictionary.
  var count: ClosedRange<Int>?
  /// The bounds of a number.
  var range: NumberRange?

  init(_ kind: Kind) { self.kind = kind }
}

/// The bounds of a number of bytes.
struct ByteBounds: Sendable {
  /// Nil: descriptions and errors name no lower bound.
  let least: Int?
  let most: Int

  init(least: Int?, most: Int) { (self.least, self.most) = (least, most) }

  init(_ range: ClosedRange<Int>) { self.init(least: range.lowerBound, most: range.upperBound) }
}

/// A member of an object.
package struct ShapeMember: Sendable {
  /// The moment whose time the server sets.
  enum SetTime: Sendable {
    case added
    /// Added or changed last.
    case changed
  }

  let name: String
  var shape: ValueShape
  /// Whether an object without the member cannot be read.
  var isRequired: Bool
  /// The value that the member has if it is missing.
  var fallback: JSON?
  /// Whether only the server sets the member.
  var isReadOnly = false
  /// The server sets the member to this time.
  var time: SetTime?
}

/// The bounds of a number, in the form in which the module's author wrote them.
enum NumberRange: Sendable, Equatable {
  case whole(ClosedRange<Int>)
  case number(ClosedRange<Double>)
  case decimal(ClosedRange<DecimalNumber>)

  var least: JSON {
    switch self {
    case .whole(let range): JSON(range.lowerBound)
    case .number(let range): JSON(range.lowerBound)
    case .decimal(let range): .string(range.lowerBound.description)
    }
  }

  var greatest: JSON {
    switch self {
    case .whole(let range): JSON(range.upperBound)
    case .number(let range): JSON(range.upperBound)
    case .decimal(let range): .string(range.upperBound.description)
    }
  }

  func contains(_ number: Double) -> Bool {
    switch self {
    case .whole(let range): number >= Double(range.lowerBound) && number <= Double(range.upperBound)
    case .number(let range): range.contains(number)
    case .decimal: false
    }
  }

  func contains(_ number: DecimalNumber) -> Bool {
    switch self {
    case .whole(let range): number >= DecimalNumber(range.lowerBound) && number <= DecimalNumber(range.upperBound)
    case .number: false
    case .decimal(let range): range.contains(number)
    }
  }
}

// MARK: - Schema

extension ValueShape {
  /// The JSON Schema (2020-12).
  ///
  /// Bounds of texts are in bytes, but JSON Schema counts characters. So the server may refuse a
  /// text that the schema allows.
  ///
  /// - Parameter isClosed: Whether objects may have no other members. Clients may not send others, but
  ///   stored elements may have members that the type had before.
  /// - Returns: The schema.
  func schema(isClosed: Bool) -> JSON {
    let schema = JSON.object(plainSchema(isClosed))
    return isNullable ? schema.orNull : schema
  }

  private func plainSchema(_ isClosed: Bool) -> JSONObject {
    switch kind {
    case .any: return [:]
    case .text:
      var schema: JSONObject = ["type": "string"]
      if let bytes {
        if let least = bytes.least { schema["minLength"] = JSON(min(1, least)) }
        schema["maxLength"] = JSON(bytes.most)
      }
      return schema
    case .uuid: return ["type": "string", "format": "uuid"]
    case .choice(let values):
      return ["type": values.first?.stringValue == nil ? "integer" : "string", "enum": .array(values)]
    case .flag: return ["type": "boolean"]
    case .whole(let least, let greatest):
      return ["type": "integer", "minimum": range?.least ?? least, "maximum": range?.greatest ?? greatest]
    case .number:
      var schema: JSONObject = ["type": "number"]
      if let range { (schema["minimum"], schema["maximum"]) = (range.least, range.greatest) }
      return schema
    case .decimal: return ["type": "string", "format": "decimal", "pattern": .string(DecimalNumber.pattern)]
    case .time: return ["type": "string", "format": "date-time"]
    case .list(let element): return counted(["type": "array", "items": element.schema(isClosed: isClosed)], "Items")
    case .dictionary(let value):
      return counted(["type": "object", "additionalProperties": value.schema(isClosed: isClosed)], "Properties")
    case .object(let members):
      let described = members.map { $0.description(isClosed: isClosed) }
      return (isClosed ? JSON.closedSchema(of: described) : .schema(ofObject: described)).objectValue ?? [:]
    case .described(let schema): return schema.objectValue ?? [:]
    }
  }

  private func counted(_ schema: JSONObject, _ noun: String) -> JSONObject {
    guard let count else { return schema }
    var schema = schema
    schema["min\(noun)"] = JSON(count.lowerBound)
    schema["max\(noun)"] = JSON(count.upperBound)
    return schema
  }
}

extension ShapeMember {
  /// The member as elements have it. A member with a fallback may be missing, because older
  /// elements may lack it.
  ///
  /// - Parameter isClosed: Whether objects may have no other members.
  /// - Returns: The member's name and schema, and whether it is required.
  func description(isClosed: Bool) -> SchemaMember {
    var schema = shape.schema(isClosed: isClosed).objectValue ?? JSONObject()
    if let fallback { schema["default"] = fallback }
    if isReadOnly { schema["readOnly"] = true }
    return SchemaMember(name: name, schema: .object(schema), isRequired: isRequired)
  }
}

extension JSON {
  /// The schema with null as a further value.
  var orNull: JSON {
    guard var schema = objectValue, !schema.isEmpty else { return self }
    guard let type = schema["type"], schema["$ref"] == nil else { return ["anyOf": [self, ["type": "null"]]] }
    schema["type"] = .array((type.arrayValue ?? [type]) + ["null"])
    if let values = schema["enum"]?.arrayValue { schema["enum"] = .array(values + [.null]) }
    return .object(schema)
  }
}

// MARK: - Checking

/// A fault in a value, and its place. The path begins in the value.
struct ValueFault: Sendable, Equatable {
  var path: [String] = []
  let detail: String

  init(_ detail: String) { self.detail = detail }

  func moved(under name: String) -> ValueFault {
    var fault = self
    fault.path.insert(name, at: 0)
    return fault
  }
}

extension ValueShape {
  /// The number of faults that one response names at most.
  static let mostFaults = 100

  /// The faults of a value, in order.
  func faults(of value: JSON) -> [ValueFault] {
    if isNullable, value.isNull { return [] }
    switch kind {
    case .any: return byteFault(bytes == nil ? 0 : value.encodedByteCount, " as JSON")
    case .text:
      guard let text = value.stringValue else { return expected("a string", value) }
      return byteFault(text.utf8.count)
    case .uuid:
      if let text = value.stringValue, Self.isUUID(text) { return [] }
      return [ValueFault("It must be a UUID, such as 0190163D-8694-739B-AEA5-966C26F8AD91.")]
    case .choice(let values):
      if values.contains(value) { return [] }
      return [
        ValueFault("It must be one of: \(values.map { $0.stringValue ?? $0.description }.joined(separator: ", ")).")
      ]
    case .flag: return value.boolValue == nil ? expected("true or false", value) : []
    case .whole(let least, let greatest): return wholeFaults(of: value, least, greatest)
    case .number:
      guard let number = value.doubleValue else { return expected("a number", value) }
      return rangeFault { $0.contains(number) }
    case .decimal:
      guard let number = value.stringValue.flatMap({ DecimalNumber($0) }) else {
        return [ValueFault(DecimalNumber.fault)]
      }
      return rangeFault { $0.contains(number) }
    case .time: return value.stringValue.flatMap { Timestamp($0) } == nil ? [ValueFault(Timestamp.fault)] : []
    case .list(let element):
      guard let elements = value.arrayValue else { return expected("an array", value) }
      var faults = countFault(elements.count, "elements")
      for (index, value) in elements.enumerated() where faults.count < Self.mostFaults {
        faults += element.faults(of: value).map { $0.moved(under: "\(index)") }
      }
      return faults
    case .dictionary(let shape):
      guard let object = value.objectValue else { return expected("an object", value) }
      var faults = countFault(object.count, "members")
      for (name, value) in object where faults.count < Self.mostFaults {
        faults += shape.faults(of: value).map { $0.moved(under: name) }
      }
      return faults
    case .object(let members):
      guard let object = value.objectValue else { return expected("an object", value) }
      return members.faults(of: object)
    case .described: return []
    }
  }

  /// Whether a text has 8, 4, 4, 4 and 12 hexadecimal digits with hyphens between them.
  private static func isUUID(_ text: String) -> Bool {
    text.utf8.count == 36
      && text.utf8.enumerated().allSatisfy { place, byte in
        [8, 13, 18, 23].contains(place)
          ? byte == UInt8(ascii: "-") : Unicode.Scalar(byte).properties.isASCIIHexDigit
      }
  }

  private func wholeFaults(of value: JSON, _ least: JSON, _ greatest: JSON) -> [ValueFault] {
    guard value.doubleValue != nil else { return expected("a whole number", value) }
    let fits: Bool
    if let number = value.int64Value {
      let isHigh = least.int64Value.map { number < $0 } ?? true
      let isLow = greatest.int64Value.map { number > $0 } ?? false
      fits = !isHigh && !isLow && rangeHolds(number)
    } else {
      // Only `UInt64` has larger numbers.
      fits = value.uint64Value != nil && greatest.int64Value == nil && range == nil
    }
    if fits { return [] }
    let (least, greatest) = (range?.least ?? least, range?.greatest ?? greatest)
    return [ValueFault("It must be a whole number from \(least) to \(greatest).")]
  }

  private func rangeHolds(_ number: Int64) -> Bool {
    guard case .whole(let range)? = range else { return true }
    return number >= range.lowerBound && number <= range.upperBound
  }

  private func rangeFault(_ holds: (NumberRange) -> Bool) -> [ValueFault] {
    guard let range, !holds(range) else { return [] }
    let (least, greatest) = (range.least, range.greatest)
    return [
      ValueFault(
        "It must be from \(least.stringValue ?? least.description) to \(greatest.stringValue ?? greatest.description)."
      )
    ]
  }

  private func byteFault(_ count: Int, _ form: String = "") -> [ValueFault] {
    guard let bytes, count > bytes.most || count < bytes.least ?? 0 else { return [] }
    let bounds = bytes.least.map { "\($0) to \(bytes.most)" } ?? "at most \(bytes.most)"
    return [ValueFault("It must have \(bounds) bytes\(form), and has \(count).")]
  }

  private func countFault(_ found: Int, _ noun: String) -> [ValueFault] {
    guard let count, !count.contains(found) else { return [] }
    return [ValueFault("It must have \(count.lowerBound) to \(count.upperBound) \(noun), and has \(found).")]
  }

  private func expected(_ name: String, _ value: JSON) -> [ValueFault] {
    [ValueFault("It must be \(name), and is \(value.typeName).")]
  }
}

extension [ShapeMember] {
  /// The faults of an object that may have these members only.
  func faults(of object: JSONObject) -> [ValueFault] {
    var faults: [ValueFault] = []
    for member in self where faults.count < ValueShape.mostFaults {
      faults += member.faults(of: object[member.name]).map { $0.moved(under: member.name) }
    }
    let strangers = object.names { name in !contains { $0.name.hasSameBytes(as: name) } }
    return faults + strangers.prefix(ValueShape.mostFaults).map { ValueFault(PayloadReader.unknown).moved(under: $0) }
  }
}

extension ShapeMember {
  /// The faults of the member's value. Null stands for an optional member that is missing.
  func faults(of value: JSON?) -> [ValueFault] {
    guard let value, isRequired || !value.isNull else { return isRequired ? [ValueFault("It is missing.")] : [] }
    return shape.faults(of: value)
  }
}
