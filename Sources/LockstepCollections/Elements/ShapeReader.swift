import LockstepJSON
import LockstepTime

/// A type that describes its JSON itself, because the server cannot derive it from the type's
/// `Codable` code: a type that reads strings and numbers, for example.
public protocol SchemaProviding: Codable {
  /// The JSON Schema (2020-12) of a value.
  static var schema: JSON { get }
  /// A value. It must be the same after it was encoded and decoded.
  static var example: Self { get }
}

/// Derives the JSON form of a type: it lets the type decode itself from sample values, and records
/// each value that the type reads.
///
/// To find out more, such as whether a member may be missing, it decodes changed samples. A type
/// whose form stays unclear is an error, never a wrong schema.
struct ShapeReader {
  /// The types that are being read, from the outside.
  private var types: [ObjectIdentifier] = []
  let path: [String]

  init(path: [String] = []) { self.path = path }

  private init(_ outer: ShapeReader, _ name: String) {
    types = outer.types
    path = outer.path + [name]
  }

  func member(_ name: String) -> ShapeReader { ShapeReader(self, name) }

  func error(_ reason: String) -> ShapeError { ShapeError(path: path, reason: reason) }

  private static let advice =
    "Let the type conform to SchemaProviding, so that it describes itself."

  /// The form of a type, and a value of it.
  func read<Value: Decodable>(_ type: Value.Type) throws -> (shape: ValueShape, sample: Value) {
    if let known = try known(type) { return known }
    try refuseForeign(type)
    guard !types.contains(ObjectIdentifier(type)) else {
      throw error("contains itself, as the type \(type). \(Self.advice)")
    }
    var inner = self
    inner.types.append(ObjectIdentifier(type))
    if let cases = Self.cases(of: type), let first = cases.first {
      guard let sample = try? inner.decode(type, from: first), try encoded(sample) == first else {
        throw error("is an enumeration that is not encoded as its raw value, as the type \(type). \(Self.advice)")
      }
      return (ValueShape(.choice(cases)), sample)
    }
    let (recorded, sample) = try inner.record(type)
    let shape = try inner.completed(recorded, sample)
    try inner.refuseUnion(type, shape)
    return (shape, sample)
  }

  // MARK: Known types

  private func known<Value: Decodable>(_ type: Value.Type) throws -> (shape: ValueShape, sample: Value)? {
    func result(_ kind: ValueShape.Kind, _ sample: Any) -> (shape: ValueShape, sample: Value)? {
      (sample as? Value).map { (ValueShape(kind), $0) }
    }
    if type == JSON.self { return result(.any, JSON.string("")) }
    if type == Timestamp.self { return result(.time, Timestamp(millisecondsSince1970: 0)) }
    if type == DecimalNumber.self { return result(.decimal, DecimalNumber(0)) }
    if let provider = type as? any SchemaProviding.Type {
      guard provider.schema.objectValue != nil else {
        throw error("has a type whose `schema` is not a JSON object: \(type).")
      }
      return result(.described(provider.schema), provider.example)
    }
    if let composite = type as? any CompositeShape.Type {
      let (shape, sample) = try composite.read(by: self)
      return (sample as? Value).map { (shape, $0) }
    }
    return nil
  }

  /// The types of Foundation have forms that depend on the coder, or that lose digits.
  private func refuseForeign(_ type: Any.Type) throws(ShapeError) {
    let name = String(reflecting: type)
    guard name.hasPrefix("Foundation"), let last = name.split(separator: ".").last else { return }
    let others = [
      "Date": "Timestamp", "Decimal": "DecimalNumber", "NSDecimal": "DecimalNumber", "Data": "String", "URL": "String",
    ]
    guard let other = others[String(last)] else { return }
    throw error("is a \(last) of Foundation, which has no form of its own in JSON. Use \(other).")
  }

  // MARK: Enumerations

  private static func cases(of type: Any.Type) -> [JSON]? {
    guard let type = type as? any (CaseIterable & RawRepresentable).Type else { return nil }
    return rawValues(of: type)
  }

  private static func rawValues<Value: CaseIterable & RawRepresentable>(of type: Value.Type) -> [JSON]? {
    let values = type.allCases.compactMap { element -> JSON? in
      switch element.rawValue {
      case let text as String: .string(text)
      case let number as any FixedWidthInteger: JSON(number)
      default: nil
      }
    }
    return values.count == type.allCases.count ? values : nil
  }

  // MARK: Recording

  /// The samples for types that refuse some values, such as the empty text. Each is tried in turn.
  private static let samples: [(text: String, number: Int)] = [
    ("", 0), ("a", 1), ("00000000-0000-4000-8000-000000000000", 2), ("2026-01-01T00:00:00.000Z", 10),
    ("https://example.com", 100),
  ]

  private func record<Value: Decodable>(_ type: Value.Type) throws -> (RecordedShape, Value) {
    var failure: (any Error)?
    for (text, number) in Self.samples {
      let recorder = ShapeRecorder(reader: self, text: text, number: number)
      do {
        return (recorder.recorded, try Value(from: recorder))
      } catch let error as ShapeError {
        throw error
      } catch {
        failure = failure ?? error
      }
    }
    throw error("cannot be read from sample values, as the type \(type): \(Self.text(failure)) \(Self.advice)")
  }

  private static func text(_ error: (any Error)?) -> String {
    switch error {
    case DecodingError.dataCorrupted(let context)?, DecodingError.typeMismatch(_, let context)?,
      DecodingError.valueNotFound(_, let context)?, DecodingError.keyNotFound(_, let context)?:
      context.debugDescription
    case let error?: "\(error)"
    case nil: ""
    }
  }

  /// The recorded form with what only the encoded sample shows.
  private func completed<Value: Decodable>(_ recorded: RecordedShape, _ sample: Value) throws -> ValueShape {
    let json = try encoded(sample)
    switch recorded.content {
    case .nothing: throw error("has a type that decodes nothing: \(Value.self). \(Self.advice)")
    case .value(let shape):
      // The recorder has found only one of the cases.
      if Mirror(reflecting: sample).displayStyle == .enum {
        throw error("is an enumeration whose cases are unknown, as the type \(Value.self). Make it CaseIterable.")
      }
      // A type that wraps a UUID is a text for the recorder.
      if case .text = shape.kind, "\(Value.self)" == "UUID" { return ValueShape(.uuid) }
      guard shape.faults(of: json).isEmpty else {
        throw error("is encoded differently than it is decoded, as the type \(Value.self). \(Self.advice)")
      }
      return shape
    case .list(let element):
      guard let element, recorded.count == 1, json.arrayValue?.count == 1 else {
        throw error("is an array with fixed places, as the type \(Value.self). \(Self.advice)")
      }
      return ValueShape(.list(element))
    case .object(let members):
      guard let object = json.objectValue else {
        throw error("is not encoded as an object, as the type \(Value.self). \(Self.advice)")
      }
      return ValueShape(.object(try self.members(members, of: Value.self, in: object)))
    }
  }

  /// The members in the order in which the type encodes them.
  private func members<Value: Decodable>(
    _ recorded: [(name: String, shape: RecordedShape)],
    of type: Value.Type,
    in object: JSONObject
  ) throws -> [ShapeMember] {
    guard (try? decode(type, from: .object(object))) != nil else {
      throw error("cannot be decoded from what it encodes, as the type \(type). \(Self.advice)")
    }
    return try object.map { name, value in
      guard let found = recorded.first(where: { $0.name.hasSameBytes(as: name) }) else {
        // The type computes the member when it encodes itself.
        return ShapeMember(
          name: name,
          shape: .init(.described(Self.schema(of: value))),
          isRequired: true,
          isReadOnly: true
        )
      }
      let shape = try member(name).shape(of: found.shape)
      var rest = object
      rest.removeValue(named: name)
      let without = try? encoded(try decode(type, from: .object(rest)))
      let again = try? encoded(try decode(type, from: .object(rest)))
      let fallback = without?[name].flatMap { $0 == again?[name] ? $0 : nil }
      return ShapeMember(name: name, shape: shape, isRequired: without == nil, fallback: fallback)
    }
  }

  /// The form of a member. Which members of a container within the object may be missing is unknown,
  /// so only lists can be read in this way.
  private func shape(of recorded: RecordedShape) throws(ShapeError) -> ValueShape {
    switch recorded.content {
    case .value(let shape): return shape
    case .list(let element?) where recorded.count == 1: return ValueShape(.list(element))
    case .nothing, .list, .object:
      throw error("is read in a way that the server cannot follow. Give it a type of its own. \(Self.advice)")
    }
  }

  private static func schema(of value: JSON) -> JSON {
    switch value {
    case .null: [:]
    case .bool: ["type": "boolean"]
    case .integer, .unsigned, .double: ["type": "number"]
    case .string: ["type": "string"]
    case .array: ["type": "array"]
    case .object: ["type": "object"]
    }
  }

  // MARK: Checks

  /// Refuses types that read values of several kinds: the recording shows only one of them.
  private func refuseUnion<Value: Decodable>(_ type: Value.Type, _ shape: ValueShape) throws {
    let probes: [JSON] = [.null, true, 1, 1.5, "zz", .array([]), .object([:])]
    for probe in probes where (try? decode(type, from: probe)) != nil {
      let isOfKind =
        switch (shape.kind, probe) {
        case (.text, .string), (.uuid, .string), (.time, .string), (.decimal, .string), (.flag, .bool),
          (.whole, .integer), (.number, .integer), (.number, .double), (.list, .array), (.object, .object),
          (.dictionary, .object), (.choice, .string), (.choice, .integer), (.any, _), (.described, _):
          true
        case (_, .null): shape.isNullable
        default: false
        }
      if !isOfKind {
        throw error("may be \(probe.typeName) as well as another type of JSON, as the type \(type). \(Self.advice)")
      }
    }
  }

  private func decode<Value: Decodable>(_ type: Value.Type, from json: JSON) throws -> Value {
    try json.decoded(as: type)
  }

  private func encoded(_ value: some Decodable) throws -> JSON {
    guard let value = value as? any Encodable else {
      throw error("has a type that is not Encodable: \(type(of: value)).")
    }
    do {
      return try JSON(encoding: value)
    } catch {
      throw self.error("cannot be encoded, as the type \(type(of: value)): \(error)")
    }
  }
}

// MARK: - Types that contain others

/// A type of the standard library that contains values of another type.
private protocol CompositeShape {
  static func read(by reader: ShapeReader) throws -> (shape: ValueShape, sample: Any)
}

extension Optional: CompositeShape where Wrapped: Decodable {
  fileprivate static func read(by reader: ShapeReader) throws -> (shape: ValueShape, sample: Any) {
    var (shape, sample) = try reader.read(Wrapped.self)
    shape.isNullable = true
    return (shape, Self.some(sample) as Any)
  }
}

extension Array: CompositeShape where Element: Decodable {
  fileprivate static func read(by reader: ShapeReader) throws -> (shape: ValueShape, sample: Any) {
    let (shape, sample) = try reader.read(Element.self)
    return (ValueShape(.list(shape)), [sample])
  }
}

extension Dictionary: CompositeShape where Key: Decodable, Value: Decodable {
  fileprivate static func read(by reader: ShapeReader) throws -> (shape: ValueShape, sample: Any) {
    guard Key.self == String.self else {
      throw reader.error("is a dictionary whose keys are no strings. Use strings as keys.")
    }
    let (shape, sample) = try reader.read(Value.self)
    return (ValueShape(.dictionary(shape)), ["key": sample])
  }
}

extension Set: CompositeShape where Element: Decodable {
  fileprivate static func read(by reader: ShapeReader) throws -> (shape: ValueShape, sample: Any) {
    throw reader.error("is a set, which has no order, so its bytes would change. Use a sorted array.")
  }
}
