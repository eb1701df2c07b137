import LockstepJSON

/// The requests of a type to a `ShapeRecorder`.
final class RecordedShape {
  enum Content {
    case nothing
    case value(ValueShape)
    /// The form of the elements; nil before the type has asked for one.
    case list(ValueShape?)
    case object([(name: String, shape: RecordedShape)])
  }

  var content = Content.nothing
  /// How many elements of a list the type has read.
  var count = 0

  init(_ content: Content = .nothing) { self.content = content }

  /// The place for a member. A type may ask for a member several times.
  func member(_ name: String) -> RecordedShape {
    var members: [(name: String, shape: RecordedShape)] = []
    if case .object(let known) = content { members = known }
    if let known = members.first(where: { $0.name == name }) { return known.shape }
    let shape = RecordedShape()
    content = .object(members + [(name, shape)])
    return shape
  }
}

/// Gives a type the sample values that it asks for, and records the requests.
struct ShapeRecorder: Decoder {
  let reader: ShapeReader
  let text: String
  let number: Int
  let recorded: RecordedShape

  init(reader: ShapeReader, text: String, number: Int, recorded: RecordedShape = RecordedShape()) {
    self.reader = reader
    self.text = text
    self.number = number
    self.recorded = recorded
  }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    if case .nothing = recorded.content { recorded.content = .object([]) }
    return KeyedDecodingContainer(RecordedObject(recorder: self))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer {
    if case .nothing = recorded.content { recorded.content = .list(nil) }
    return RecordedList(recorder: self)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { RecordedValue(recorder: self) }

  /// A recorder for a container within this one.
  fileprivate func nested(_ recorded: RecordedShape, _ name: String) -> ShapeRecorder {
    ShapeRecorder(reader: reader.member(name), text: text, number: number, recorded: recorded)
  }

  /// The sample of a type, and its form.
  fileprivate func sample<Value: Decodable>(_ type: Value.Type, _ name: String? = nil) throws -> (ValueShape, Value) {
    var known: (kind: ValueShape.Kind, sample: Any)?
    switch type {
    case is String.Type: known = (.text, text)
    case is Bool.Type: known = (.flag, false)
    case is Double.Type: known = (.number, Double(number))
    case is Float.Type: known = (.number, Float(number))
    default: if let type = type as? any FixedWidthInteger.Type { known = whole(type) }
    }
    if let known, let sample = known.sample as? Value { return (ValueShape(known.kind), sample) }
    return try (name.map { reader.member($0) } ?? reader).read(type)
  }

  private func whole<Number: FixedWidthInteger>(_ type: Number.Type) -> (kind: ValueShape.Kind, sample: Any) {
    (.whole(least: JSON(Number.min), greatest: JSON(Number.max)), Number(clamping: number))
  }

  fileprivate func superError() -> ShapeError {
    reader.error("is a class that inherits its coding, which the server cannot follow. Use a struct.")
  }
}

private struct RecordedValue: SingleValueDecodingContainer {
  let recorder: ShapeRecorder
  var codingPath: [any CodingKey] { [] }

  func decodeNil() -> Bool { false }

  private func record<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let (shape, sample) = try recorder.sample(type)
    recorder.recorded.content = .value(shape)
    return sample
  }

  func decode(_ type: Bool.Type) throws -> Bool { try record(type) }
  func decode(_ type: String.Type) throws -> String { try record(type) }
  func decode(_ type: Double.Type) throws -> Double { try record(type) }
  func decode(_ type: Float.Type) throws -> Float { try record(type) }
  func decode(_ type: Int.Type) throws -> Int { try record(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try record(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try record(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try record(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try record(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try record(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try record(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try record(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try record(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try record(type) }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try record(type) }
}

private struct RecordedObject<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recorder: ShapeRecorder
  var codingPath: [any CodingKey] { [] }
  /// Types that look at all keys, such as enumerations with associated values, cannot be recorded.
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { false }

  private func record<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value {
    let (shape, sample) = try recorder.sample(type, key.stringValue)
    recorder.recorded.member(key.stringValue).content = .value(shape)
    return sample
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try record(type, key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try record(type, key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try record(type, key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try record(type, key) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try record(type, key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try record(type, key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try record(type, key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try record(type, key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try record(type, key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try record(type, key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try record(type, key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try record(type, key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try record(type, key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try record(type, key) }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try record(type, key) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<Nested>
  {
    let name = key.stringValue
    return recorder.nested(recorder.recorded.member(name), name).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    let name = key.stringValue
    return recorder.nested(recorder.recorded.member(name), name).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { throw recorder.superError() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw recorder.superError() }
}

/// A list with one element. A type that reads more elements than there are expects fixed places.
private struct RecordedList: UnkeyedDecodingContainer {
  let recorder: ShapeRecorder
  private(set) var currentIndex = 0

  init(recorder: ShapeRecorder) { self.recorder = recorder }

  var codingPath: [any CodingKey] { [] }
  var count: Int? { 1 }
  var isAtEnd: Bool { currentIndex > 0 }

  func decodeNil() -> Bool { false }

  private mutating func record<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let (shape, sample) = try recorder.sample(type)
    recorder.recorded.content = .list(shape)
    recorder.recorded.count += 1
    currentIndex += 1
    return sample
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try record(type) }
  mutating func decode(_ type: String.Type) throws -> String { try record(type) }
  mutating func decode(_ type: Double.Type) throws -> Double { try record(type) }
  mutating func decode(_ type: Float.Type) throws -> Float { try record(type) }
  mutating func decode(_ type: Int.Type) throws -> Int { try record(type) }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try record(type) }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try record(type) }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try record(type) }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try record(type) }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try record(type) }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try record(type) }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try record(type) }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try record(type) }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try record(type) }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try record(type) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    throw recorder.reader.error("is an array whose elements have no type of their own. Declare one.")
  }

  func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw recorder.reader.error("is an array whose elements have no type of their own. Declare one.")
  }

  func superDecoder() throws -> any Decoder { throw recorder.superError() }
}
