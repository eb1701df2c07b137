/// Decodes a `Codable` type from a `JSON` value.
final class JSONValueDecoder: Decoder {
  let value: JSON
  /// The name of the value in the value around it; nil for the outermost one.
  private let key: (any CodingKey)?
  private let outer: JSONValueDecoder?
  /// The values of members that the object lacks.
  let defaults: JSONObject?
  private let foreign: ForeignTypes?
  /// The place of the member that probably comes next: types decode their members in the order in
  /// which they encode them.
  fileprivate var next = 0

  init(
    _ value: JSON,
    for key: (any CodingKey)?,
    in outer: JSONValueDecoder?,
    defaults: JSONObject? = nil,
    _ foreign: ForeignTypes? = nil
  ) {
    self.foreign = foreign ?? outer?.foreign
    self.value = value
    self.key = key
    self.outer = outer
    self.defaults = defaults
  }

  var codingPath: [any CodingKey] { (outer?.codingPath ?? []) + (key.map { [$0] } ?? []) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let object) = value else { throw mismatch(JSONObject.self, "an object", value) }
    return KeyedDecodingContainer(ObjectDecoding(decoder: self, object: object))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch([JSON].self, "an array", value) }
    return ArrayDecoding(decoder: self, elements: elements)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  /// The error that a value is of another type. `key` names the value within this one.
  fileprivate func mismatch(
    _ type: Any.Type,
    _ expected: String,
    _ value: JSON,
    _ key: (any CodingKey)? = nil
  ) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath + (key.map { [$0] } ?? []),
      debugDescription: "It must be \(expected), and is \(value.typeName)."
    )
    return value.isNull ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  // Each of these converts this value, or the value within it that `key` names.

  fileprivate func flag(_ value: JSON, _ key: (any CodingKey)? = nil) throws -> Bool {
    guard case .bool(let flag) = value else { throw mismatch(Bool.self, "true or false", value, key) }
    return flag
  }

  fileprivate func text(_ value: JSON, _ key: (any CodingKey)? = nil) throws -> String {
    guard case .string(let text) = value else { throw mismatch(String.self, "a string", value, key) }
    return text
  }

  fileprivate func number(_ value: JSON, _ key: (any CodingKey)? = nil) throws -> Double {
    guard let number = value.doubleValue else { throw mismatch(Double.self, "a number", value, key) }
    return number
  }

  fileprivate func whole<Number: FixedWidthInteger>(_ value: JSON, _ key: (any CodingKey)? = nil) throws -> Number {
    if let number = value.int64Value.flatMap({ Number(exactly: $0) }) { return number }
    if let number = value.uint64Value.flatMap({ Number(exactly: $0) }) { return number }
    guard value.doubleValue != nil else { throw mismatch(Number.self, "a whole number", value, key) }
    let detail = "It must be a whole number from \(Number.min) to \(Number.max)."
    let path = codingPath + (key.map { [$0] } ?? [])
    throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: path, debugDescription: detail))
  }

  fileprivate func decode<Value: Decodable>(_ type: Value.Type, _ value: JSON, _ key: some CodingKey) throws -> Value {
    if Value.self == JSON.self, let json = value as? Value { return json }
    if let foreign, foreign.contains(type) { return try read(type, value, key, foreign) }
    return try Value(from: JSONValueDecoder(value, for: key, in: self))
  }

  /// Reads a value of a type of another library. `key` names the value within this one.
  fileprivate func read<Value: Decodable>(
    _ type: Value.Type,
    _ value: JSON,
    _ key: (any CodingKey)?,
    _ foreign: ForeignTypes
  ) throws -> Value {
    if let read = foreign.decode(type, value) as? Value { return read }
    throw mismatch(type, "a \(type)", value, key)
  }
}

// MARK: - Single values

extension JSONValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try flag(value) }
  func decode(_ type: String.Type) throws -> String { try text(value) }
  func decode(_ type: Double.Type) throws -> Double { try number(value) }
  func decode(_ type: Float.Type) throws -> Float { Float(try number(value)) }
  func decode(_ type: Int.Type) throws -> Int { try whole(value) }
  func decode(_ type: Int8.Type) throws -> Int8 { try whole(value) }
  func decode(_ type: Int16.Type) throws -> Int16 { try whole(value) }
  func decode(_ type: Int32.Type) throws -> Int32 { try whole(value) }
  func decode(_ type: Int64.Type) throws -> Int64 { try whole(value) }
  func decode(_ type: UInt.Type) throws -> UInt { try whole(value) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try whole(value) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try whole(value) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try whole(value) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try whole(value) }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if Value.self == JSON.self, let json = value as? Value { return json }
    if let foreign, foreign.contains(type) { return try read(type, value, nil, foreign) }
    return try Value(from: self)
  }
}

// MARK: - Objects

private struct ObjectDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: JSONValueDecoder
  let object: JSONObject

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    let missing = decoder.defaults?.names { !object.contains(name: $0) } ?? []
    return (object.names + missing).compactMap { Key(stringValue: $0) }
  }

  private func find(_ key: Key) -> JSON? {
    let name = key.stringValue
    return object.value(named: name, near: &decoder.next) ?? decoder.defaults?[name]
  }

  private func value(_ key: Key) throws -> JSON {
    if let value = find(key) { return value }
    let context = DecodingError.Context(codingPath: codingPath + [key], debugDescription: "It is missing.")
    throw DecodingError.keyNotFound(key, context)
  }

  private func present(_ key: Key) -> JSON? { find(key).flatMap { $0.isNull ? nil : $0 } }

  func contains(_ key: Key) -> Bool {
    object.contains(name: key.stringValue) || decoder.defaults?.contains(name: key.stringValue) == true
  }

  func decodeNil(forKey key: Key) throws -> Bool { try value(key).isNull }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder.flag(value(key), key) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder.text(value(key), key) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder.number(value(key), key) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { Float(try decoder.number(value(key), key)) }
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder.whole(value(key), key) }
  func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder.whole(value(key), key) }
  func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder.whole(value(key), key) }
  func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder.whole(value(key), key) }
  func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder.whole(value(key), key) }
  func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder.whole(value(key), key) }
  func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder.whole(value(key), key) }
  func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder.whole(value(key), key) }
  func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder.whole(value(key), key) }
  func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder.whole(value(key), key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder.decode(type, value(key), key)
  }

  // The default implementations of these look for the member three times.

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try present(key).map { try decoder.flag($0, key) }
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try present(key).map { try decoder.text($0, key) }
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try present(key).map { try decoder.number($0, key) }
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try present(key).map { try decoder.whole($0, key) }
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    try present(key).map { try decoder.decode(type, $0, key) }
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type,
    forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try JSONValueDecoder(value(key), for: key, in: decoder).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try JSONValueDecoder(value(key), for: key, in: decoder).unkeyedContainer()
  }

  func superDecoder() -> any Decoder {
    let key = PlaceKey.superKey
    return JSONValueDecoder(object[key.stringValue] ?? .null, for: key, in: decoder)
  }

  func superDecoder(forKey key: Key) -> any Decoder { JSONValueDecoder(find(key) ?? .null, for: key, in: decoder) }
}

extension JSONObject {
  /// The value of a member. Looks at `hint` first. If the member is there, moves `hint` to the next
  /// place.
  fileprivate func value(named name: String, near hint: inout Int) -> JSON? {
    if hint < members.count, members[hint].name.hasSameBytes(as: name) {
      hint += 1
      return members[hint - 1].value
    }
    return self[name]
  }
}

// MARK: - Arrays

private struct ArrayDecoding: UnkeyedDecodingContainer {
  let decoder: JSONValueDecoder
  let elements: [JSON]
  private(set) var currentIndex = 0

  init(decoder: JSONValueDecoder, elements: [JSON]) {
    self.decoder = decoder
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  /// Reads the present element, and moves on if that succeeds.
  private mutating func read<Value>(_ type: Any.Type, _ body: (JSON, PlaceKey) throws -> Value) throws -> Value {
    let key = PlaceKey(currentIndex)
    guard !isAtEnd else {
      let path = decoder.codingPath + [key]
      throw DecodingError.valueNotFound(type, .init(codingPath: path, debugDescription: "It is missing."))
    }
    let value = try body(elements[currentIndex], key)
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    if try read(Bool.self, { value, _ in value.isNull }) { return true }
    currentIndex -= 1
    return false
  }

  private mutating func whole<Number: FixedWidthInteger>() throws -> Number {
    try read(Number.self) { [decoder] in try decoder.whole($0, $1) }
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool { try read(type) { [decoder] in try decoder.flag($0, $1) } }
  mutating func decode(_ type: String.Type) throws -> String {
    try read(type) { [decoder] in try decoder.text($0, $1) }
  }
  mutating func decode(_ type: Double.Type) throws -> Double {
    try read(type) { [decoder] in try decoder.number($0, $1) }
  }
  mutating func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
  mutating func decode(_ type: Int.Type) throws -> Int { try whole() }
  mutating func decode(_ type: Int8.Type) throws -> Int8 { try whole() }
  mutating func decode(_ type: Int16.Type) throws -> Int16 { try whole() }
  mutating func decode(_ type: Int32.Type) throws -> Int32 { try whole() }
  mutating func decode(_ type: Int64.Type) throws -> Int64 { try whole() }
  mutating func decode(_ type: UInt.Type) throws -> UInt { try whole() }
  mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try whole() }
  mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try whole() }
  mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try whole() }
  mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try whole() }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try read(type) { [decoder] in try decoder.decode(type, $0, $1) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try read(JSONObject.self) { [decoder] in try JSONValueDecoder($0, for: $1, in: decoder).container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try read([JSON].self) { [decoder] in try JSONValueDecoder($0, for: $1, in: decoder).unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder {
    try read(JSON.self) { [decoder] in JSONValueDecoder($0, for: $1, in: decoder) }
  }
}
