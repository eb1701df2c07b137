/// Encodes a `Codable` type as a `JSON` value. Each object, array and value has an encoder of its own.
final class JSONValueEncoder: Encoder {
  private enum Content {
    case none
    case value(JSON)
    case array
    case object
  }

  /// The name of the value in the value around it; nil for the outermost one.
  private let key: (any CodingKey)?
  private let outer: JSONValueEncoder?
  private var content = Content.none
  private var elements: [JSON] = []
  private var members = JSONObject()
  /// Whether the members are the keys of a dictionary, which have no order of their own.
  private var isDictionary = false
  /// A bit for some properties of each name that was set, so that a new name needs no search.
  private var names: UInt64 = 0
  /// The containers within this one, which may still be written to. `key` is the name of a member, or
  /// an index.
  private var nested: [(place: Int, encoder: JSONValueEncoder)] = []

  private let foreign: ForeignTypes?

  init(for key: (any CodingKey)?, in outer: JSONValueEncoder?, _ foreign: ForeignTypes? = nil) {
    (self.key, self.outer, self.foreign) = (key, outer, foreign ?? outer?.foreign)
  }

  var codingPath: [any CodingKey] { (outer?.codingPath ?? []) + (key.map { [$0] } ?? []) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The encoded value. A type that encodes nothing is null.
  var json: JSON {
    for (place, encoder) in nested {
      if case .object = content {
        members.updateValue(encoder.json, named: members[place].name)
      } else {
        elements[place] = encoder.json
      }
    }
    nested = []
    switch content {
    case .none: return .null
    case .value(let value): return value
    case .array: return .array(elements)
    case .object: return .object(isDictionary ? members.sorted() : members)
    }
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    if case .none = content { content = .object }
    if ObjectIdentifier(Key.self) == DictionaryKeys.identity { isDictionary = true }
    return KeyedEncodingContainer(ObjectEncoding(encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    if case .none = content { content = .array }
    return ArrayEncoding(encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  // MARK: Writing

  fileprivate func set(_ value: JSON) { content = .value(value) }

  fileprivate func set(_ value: JSON, _ name: String) {
    let property = name.utf8.count &* 7 &+ Int(name.utf8.first ?? 0) &+ Int(name.utf8.last ?? 0)
    let bit = UInt64(1) << UInt64(property & 63)
    if names & bit == 0 {
      if names == 0 { members.reserveCapacity(12) }
      names |= bit
      members.append(value, named: name)
    } else {
      members.updateValue(value, named: name)
    }
  }

  fileprivate func append(_ value: JSON) { elements.append(value) }
  fileprivate var count: Int { elements.count }

  fileprivate func nest(_ key: some CodingKey) -> JSONValueEncoder {
    set(.null, key.stringValue)
    let encoder = JSONValueEncoder(for: key, in: self)
    let index = members.count - 1
    let isLast = members[index].name.hasSameBytes(as: key.stringValue)
    let found = isLast ? index : members.firstIndex { $0.name.hasSameBytes(as: key.stringValue) } ?? index
    nested.append((found, encoder))
    return encoder
  }

  fileprivate func nest() -> JSONValueEncoder {
    let encoder = JSONValueEncoder(for: PlaceKey(count), in: self)
    nested.append((count, encoder))
    append(.null)
    return encoder
  }

  static func encoded<Value: Encodable>(
    _ value: Value,
    for key: (any CodingKey)?,
    in outer: JSONValueEncoder?
  ) throws -> JSON {
    if Value.self == JSON.self, let json = value as? JSON { return json }
    if let foreign = outer?.foreign, let json = try foreign.encode(value) { return json }
    let encoder = JSONValueEncoder(for: key, in: outer)
    try value.encode(to: encoder)
    return encoder.json
  }

  fileprivate func number(_ value: Double, _ key: (any CodingKey)? = nil) throws -> JSON {
    guard value.isFinite else {
      let context = EncodingError.Context(
        codingPath: codingPath + (key.map { [$0] } ?? []),
        debugDescription: "JSON has no number for it."
      )
      throw EncodingError.invalidValue(value, context)
    }
    return .double(value)
  }
}

/// The keys with which dictionaries encode themselves. The type is not public, so its identity is found by
/// encoding a dictionary.
private enum DictionaryKeys {
  static let identity: ObjectIdentifier? = {
    let probe = Probe()
    try? ["": 0].encode(to: probe)
    return probe.identity
  }()

  private final class Probe: Encoder {
    var identity: ObjectIdentifier?
    let inner = JSONValueEncoder(for: nil, in: nil)
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
      identity = ObjectIdentifier(Key.self)
      return KeyedEncodingContainer(ObjectEncoding(encoder: inner))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { inner.unkeyedContainer() }
    func singleValueContainer() -> any SingleValueEncodingContainer { inner }
  }
}

extension JSONObject {
  /// The members in the order of their names' bytes.
  fileprivate func sorted() -> JSONObject {
    JSONObject(members.sorted { $0.name.precedesInBytes($1.name) }.map { ($0.name, $0.value) })
  }
}

// MARK: - Single values

extension JSONValueEncoder: SingleValueEncodingContainer {
  func encodeNil() { set(.null) }
  func encode(_ value: Bool) { set(.bool(value)) }
  func encode(_ value: String) { set(.string(value)) }
  func encode(_ value: Double) throws { set(try number(value)) }
  func encode(_ value: Float) throws { set(try number(Double(value))) }
  func encode(_ value: Int) { set(JSON(value)) }
  func encode(_ value: Int8) { set(JSON(value)) }
  func encode(_ value: Int16) { set(JSON(value)) }
  func encode(_ value: Int32) { set(JSON(value)) }
  func encode(_ value: Int64) { set(JSON(value)) }
  func encode(_ value: UInt) { set(JSON(value)) }
  func encode(_ value: UInt8) { set(JSON(value)) }
  func encode(_ value: UInt16) { set(JSON(value)) }
  func encode(_ value: UInt32) { set(JSON(value)) }
  func encode(_ value: UInt64) { set(JSON(value)) }

  func encode<Value: Encodable>(_ value: Value) throws {
    if Value.self == JSON.self, let json = value as? JSON { return set(json) }
    if let foreign, let json = try foreign.encode(value) { return set(json) }
    try value.encode(to: self)
  }
}

// MARK: - Objects

private struct ObjectEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: JSONValueEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil(forKey key: Key) { encoder.set(.null, key.stringValue) }
  func encode(_ value: Bool, forKey key: Key) { encoder.set(.bool(value), key.stringValue) }
  func encode(_ value: String, forKey key: Key) { encoder.set(.string(value), key.stringValue) }

  func encode(_ value: Double, forKey key: Key) throws {
    encoder.set(try encoder.number(value, key), key.stringValue)
  }

  func encode(_ value: Float, forKey key: Key) throws {
    encoder.set(try encoder.number(Double(value), key), key.stringValue)
  }

  func encode(_ value: Int, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: Int8, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: Int16, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: Int32, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: Int64, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: UInt, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: UInt8, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: UInt16, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: UInt32, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }
  func encode(_ value: UInt64, forKey key: Key) { encoder.set(JSON(value), key.stringValue) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    encoder.set(try JSONValueEncoder.encoded(value, for: key, in: encoder), key.stringValue)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested>
  {
    encoder.nest(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder.nest(key).unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder.nest(PlaceKey.superKey) }
  func superEncoder(forKey key: Key) -> any Encoder { encoder.nest(key) }
}

// MARK: - Arrays

private struct ArrayEncoding: UnkeyedEncodingContainer {
  let encoder: JSONValueEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.count }

  func encodeNil() { encoder.append(.null) }
  func encode(_ value: Bool) { encoder.append(.bool(value)) }
  func encode(_ value: String) { encoder.append(.string(value)) }
  func encode(_ value: Double) throws { encoder.append(try encoder.number(value, PlaceKey(count))) }
  func encode(_ value: Float) throws { encoder.append(try encoder.number(Double(value), PlaceKey(count))) }
  func encode(_ value: Int) { encoder.append(JSON(value)) }
  func encode(_ value: Int8) { encoder.append(JSON(value)) }
  func encode(_ value: Int16) { encoder.append(JSON(value)) }
  func encode(_ value: Int32) { encoder.append(JSON(value)) }
  func encode(_ value: Int64) { encoder.append(JSON(value)) }
  func encode(_ value: UInt) { encoder.append(JSON(value)) }
  func encode(_ value: UInt8) { encoder.append(JSON(value)) }
  func encode(_ value: UInt16) { encoder.append(JSON(value)) }
  func encode(_ value: UInt32) { encoder.append(JSON(value)) }
  func encode(_ value: UInt64) { encoder.append(JSON(value)) }

  func encode<Value: Encodable>(_ value: Value) throws {
    encoder.append(try JSONValueEncoder.encoded(value, for: PlaceKey(count), in: encoder))
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    encoder.nest().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.nest().unkeyedContainer() }
  func superEncoder() -> any Encoder { encoder.nest() }
}
