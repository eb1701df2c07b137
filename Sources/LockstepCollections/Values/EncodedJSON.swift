import LockstepJSON

/// A JSON value and its text. An element is decoded and encoded once per write. The action creates
/// this value, and the mutation carries it to the state, the table and the journal.
public struct EncodedJSON: Sendable, Equatable {
  /// The value.
  public let json: JSON
  /// The value as clients get it.
  public let encoded: [UInt8]

  /// Encodes a value.
  public init(_ json: JSON) {
    self.json = json
    encoded = json.encoded()
  }

  package init(_ json: JSON, encoded: [UInt8]) {
    self.json = json
    self.encoded = encoded
  }

  /// Two values are equal if clients see the same bytes.
  public static func == (left: EncodedJSON, right: EncodedJSON) -> Bool { left.encoded == right.encoded }
}
