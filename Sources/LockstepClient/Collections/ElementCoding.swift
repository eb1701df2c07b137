import LockstepJSON

/// The part of a client that collections write through.
protocol ActionWriter: Sendable {
  /// Adds a write. When this returns, it is on disk and shown.
  func write(_ actions: [ClientAction], condition: WriteCondition?) async throws -> PendingWrite
}

extension ActionWriter {
  func write(_ actions: [ClientAction]) async throws -> PendingWrite { try await write(actions, condition: nil) }
}

/// Values of Swift types as JSON, such as the elements of lists.
package enum ElementCoding {
  /// The element as a JSON object. Members that the server sets itself may be part of it.
  static func content(of element: some Encodable) throws -> JSONObject {
    guard let object = try json(element).objectValue else {
      throw ClientFailure(.app, "\(type(of: element)) must be encoded as a JSON object.")
    }
    return object
  }

  package static func json(_ value: some Encodable) throws -> JSON {
    // Parsed again, so that a value which is nested too deeply is an error here, and numbers have the form that they
    // have on the server.
    try JSON(parsing: JSON(encoding: value, .foundation).encoded())
  }

  package static func decode<Value: Decodable>(_ type: Value.Type, from json: JSON) throws -> Value {
    try json.decoded(as: type, withDefaults: nil, .foundation)
  }

  /// Whether two values are equal in each byte. Swift's `==` considers two encodings of a text equal, such as “é” as
  /// one scalar and as two.
  package static func areSame<Value: Equatable>(_ left: Value, _ right: Value) -> Bool {
    guard left == right else { return false }
    guard let left = left as? any Encodable, let right = right as? any Encodable else { return true }
    return (try? json(left)) == (try? json(right))
  }

  /// Decodes a value. If the type cannot read it, adds the `defaults` of members that it lacks, because an older server
  /// may have stored it.
  static func decode<Value: Decodable>(
    _ type: Value.Type,
    from encoded: [UInt8],
    _ defaults: JSONObject = JSONObject()
  ) -> Value? {
    guard let json = try? JSON(parsing: encoded) else { return nil }
    if let value = try? decode(type, from: json) { return value }
    guard !defaults.isEmpty, json.objectValue != nil else { return nil }
    return try? json.decoded(as: type, withDefaults: defaults, .foundation)
  }
}
