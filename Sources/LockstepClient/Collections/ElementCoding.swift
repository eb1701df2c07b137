import Foundation
import LockstepJSON

/// The part of a client that collections write through.
protocol ActionWriter: Sendable {
  /// Adds a write. When this returns, it is on disk and shown.
  func write(_ actions: [ClientAction], condition: WriteCondition?) async throws -> PendingWrite
}

extension ActionWriter {
  func write(_ actions: [ClientAction]) async throws -> PendingWrite { try await write(actions, condition: nil) }
}

/// Elements as the payload of an action.
package enum ElementCoding {
  /// The element as a JSON object. Members that the server sets itself may be part of it.
  static func content(of element: some Encodable) throws -> JSONObject {
    guard let object = try json(element).objectValue else {
      throw ClientFailure("\(type(of: element)) must be encoded as a JSON object.")
    }
    return object
  }

  static func json(_ value: some Encodable) throws -> JSON {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return try JSON(parsing: [UInt8](encoder.encode(value)))
  }

  /// Whether two values are equal in each byte. Swift's `==` takes two encodings of a text for equal, such as “é” as
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
    if let value = try? JSONDecoder().decode(type, from: Data(encoded)) { return value }
    guard !defaults.isEmpty, var object = (try? JSON(parsing: encoded))?.objectValue else { return nil }
    for (name, value) in defaults where !object.contains(name: name) { object[name] = value }
    return try? JSONDecoder().decode(type, from: Data(JSON.object(object).encoded()))
  }
}
