import LockstepJSON
import LockstepTime

@usableFromInline
package struct SchemaMember: Sendable {
  @usableFromInline package let name: String
  let schema: JSON
  package let isRequired: Bool
  /// The `repeatedMember` of the format of its value.
  let repeatedMember: String?

  @usableFromInline
  package init(name: String, schema: JSON, isRequired: Bool = true, repeatedMember: String? = nil) {
    self.name = name
    self.schema = schema
    self.isRequired = isRequired
    self.repeatedMember = repeatedMember
  }
}

extension [SchemaMember] {
  /// Whether a member before this one has the same name. Names are compared by their bytes, as in
  /// JSON.
  @usableFromInline
  func repeatsName(at place: Int) -> Bool {
    self[..<place].contains { $0.name.hasSameBytes(as: self[place].name) }
  }

  /// The JSON Pointer of the first member that is declared twice: one of these members, or a member
  /// of a value. The pointer leaves out the indices of lists.
  @usableFromInline
  package var repeatedMember: String? {
    for (place, member) in enumerated() {
      let pointer = JSONPointer(tokens: [member.name]).description
      if repeatsName(at: place) { return pointer }
      if let repeated = member.repeatedMember { return pointer + repeated }
    }
    return nil
  }
}

extension JSON {
  /// The JSON Schema (2020-12) of an object with these members. Other members are allowed.
  @usableFromInline
  package static func schema(ofObject members: [SchemaMember]) -> JSON {
    let required = members.filter(\.isRequired).map { JSON.string($0.name) }
    return [
      "type": "object",
      "properties": .object(JSONObject(members.map { ($0.name, $0.schema) })),
      "required": .array(required),
    ]
  }

  /// The schema of an object that clients send. The object may have no other members, because the
  /// server refuses them.
  @usableFromInline
  package static func closedSchema(of members: [SchemaMember]) -> JSON {
    var schema = JSON.schema(ofObject: members).objectValue ?? JSONObject()
    schema["additionalProperties"] = false
    return .object(schema)
  }
}

/// One declaration that encodes values as JSON and describes them by JSON Schema.
public struct ValueFormat<Value>: Sendable {
  /// The JSON Schema (2020-12).
  public let schema: JSON
  /// Encodes a value.
  public let encode: @Sendable (Value) -> JSON

  /// The JSON Pointer of a member that an object of this format has twice, which is a mistake in the
  /// declaration. The server reports it when it starts.
  @usableFromInline package let repeatedMember: String?

  /// A custom format. Its output must match the schema.
  public init(schema: JSON, encode: @escaping @Sendable (Value) -> JSON) {
    self.init(schema: schema, repeatedMember: nil, encode: encode)
  }

  package init(schema: JSON, repeatedMember: String?, encode: @escaping @Sendable (Value) -> JSON) {
    self.schema = schema
    self.repeatedMember = repeatedMember
    self.encode = encode
  }

  /// An object with these members, in this order. Their names must differ. A server that uses a format
  /// with a repeated name does not start.
  @inlinable  // This and the members are inlinable, because each response of a screen encodes its state.
  public init(_ members: ObjectMember<Value>...) {
    let declared = members.map(\.description)
    repeatedMember = declared.repeatedMember
    let members = members.indices.filter { !declared.repeatsName(at: $0) }.map { members[$0] }
    schema = .schema(ofObject: members.map(\.description))
    encode = { value in
      var object = JSONObject()
      object.reserveCapacity(members.count)
      for member in members {
        if let value = member.encode(value) { object.append(value, named: member.description.name) }
      }
      return .object(object)
    }
  }
}

/// A member of an object, with the code that gets its value.
public struct ObjectMember<Whole>: Sendable {
  @usableFromInline let description: SchemaMember
  @usableFromInline let encode: @Sendable (Whole) -> JSON?

  @usableFromInline
  init(description: SchemaMember, encode: @escaping @Sendable (Whole) -> JSON?) {
    self.description = description
    self.encode = encode
  }

  /// A required member.
  @inlinable
  public static func member<Value>(
    _ name: String,
    _ format: ValueFormat<Value>,
    _ value: @escaping @Sendable (Whole) -> Value
  ) -> ObjectMember {
    let description = SchemaMember(name: name, schema: format.schema, repeatedMember: format.repeatedMember)
    return ObjectMember(description: description) { format.encode(value($0)) }
  }

  /// An optional member. It is left out if its value is `nil`.
  @inlinable
  public static func optional<Value>(
    _ name: String,
    _ format: ValueFormat<Value>,
    _ value: @escaping @Sendable (Whole) -> Value?
  ) -> ObjectMember {
    let description = SchemaMember(
      name: name,
      schema: format.schema,
      isRequired: false,
      repeatedMember: format.repeatedMember
    )
    return ObjectMember(description: description) { whole in value(whole).map(format.encode) }
  }
}

extension ValueFormat<String> {
  /// A string.
  public static var text: ValueFormat { ValueFormat(schema: ["type": "string"]) { .string($0) } }

  /// One of these strings.
  public static func text(oneOf texts: [String]) -> ValueFormat {
    ValueFormat(schema: ["type": "string", "enum": .array(texts.map(JSON.string))]) { .string($0) }
  }
}

extension ValueFormat<Bool> {
  /// True or false.
  public static var flag: ValueFormat { ValueFormat(schema: ["type": "boolean"]) { .bool($0) } }
}

extension ValueFormat<Int> {
  /// A whole number, at least 0.
  public static var count: ValueFormat { ValueFormat(schema: .indexSchema) { .integer(Int64($0)) } }
}

extension ValueFormat where Value: FixedWidthInteger & Sendable {
  /// A whole number, also a negative one.
  public static var whole: ValueFormat {
    ValueFormat(schema: ["type": "integer", "minimum": JSON(Value.min), "maximum": JSON(Value.max)]) { JSON($0) }
  }
}

extension ValueFormat<Double> {
  /// A number, which may have a fraction. One that is infinite or not a number becomes null.
  public static var number: ValueFormat { ValueFormat(schema: ["type": "number"]) { JSON($0) } }
}

extension ValueFormat<DecimalNumber> {
  /// An exact decimal number: a string, such as `"12.5"`.
  public static var decimal: ValueFormat {
    ValueFormat(schema: ValueShape(.decimal).schema(isClosed: true)) { .string($0.description) }
  }
}

extension ValueFormat where Value: CaseIterable & RawRepresentable & Sendable, Value.RawValue == String {
  /// One of the cases of an enumeration.
  public static var choice: ValueFormat {
    ValueFormat(schema: ValueShape(.choice(Value.allCases.map { .string($0.rawValue) })).schema(isClosed: true)) {
      .string($0.rawValue)
    }
  }
}

extension ValueFormat<JSON> {
  /// Any JSON.
  public static var json: ValueFormat { ValueFormat(schema: [:]) { $0 } }
}

extension ValueFormat<Timestamp> {
  /// A moment, in RFC 3339.
  public static var time: ValueFormat {
    ValueFormat(schema: ["type": "string", "format": "date-time"]) { .string($0.description) }
  }
}

extension ValueFormat {
  /// The same format with `readOnly` in its schema, for values that only the server sets.
  public var readOnly: ValueFormat {
    var described = schema.objectValue ?? JSONObject()
    described["readOnly"] = true
    return ValueFormat(schema: .object(described), repeatedMember: repeatedMember, encode: encode)
  }

  /// A list.
  public static func list<Element>(of element: ValueFormat<Element>) -> ValueFormat where Value == [Element] {
    ValueFormat(schema: ["type": "array", "items": element.schema], repeatedMember: element.repeatedMember) {
      .array($0.map(element.encode))
    }
  }
}
