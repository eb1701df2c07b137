// Codable types to and from `JSON`, without a text between them. Foundation's coders would go through
// `Data`, and a server does not link Foundation.

extension JSON {
  /// Encodes a value. Members come in the order in which the type encodes them, and the keys of a
  /// dictionary in the order of their bytes. Throws an `EncodingError` if the value has a number
  /// that is infinite or not a number, or whatever the type throws.
  public init<Value: Encodable>(encoding value: Value) throws {
    self = try JSONValueEncoder.encoded(value, for: nil, in: nil)
  }

  /// The same, with a form for types of other libraries.
  package init<Value: Encodable>(encoding value: Value, _ foreign: ForeignTypes) throws {
    let encoder = JSONValueEncoder(for: nil, in: nil, foreign)
    try encoder.encode(value)
    self = encoder.json
  }

  /// Decodes a value. Throws a `DecodingError` whose description says what is wrong for people, or
  /// whatever the type throws.
  public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
    try decoded(as: type, withDefaults: nil)
  }

  /// Decodes a value. If the object lacks one of the members in `defaults`, it has the value there.
  package func decoded<Value: Decodable>(
    as type: Value.Type = Value.self,
    withDefaults defaults: JSONObject?,
    _ foreign: ForeignTypes? = nil
  ) throws -> Value {
    try JSONValueDecoder(self, for: nil, in: nil, defaults: defaults, foreign).decode(type)
  }
}

/// The index of an element in an array, or the key `super` of classes.
struct PlaceKey: CodingKey {
  let intValue: Int?

  var stringValue: String { intValue.map { String($0) } ?? "super" }

  init(_ index: Int) { intValue = index }

  init?(intValue: Int) { self.intValue = intValue }

  init?(stringValue: String) {
    guard stringValue == "super" else { return nil }
    intValue = nil
  }

  private init() { intValue = nil }

  static let superKey = PlaceKey()
}
