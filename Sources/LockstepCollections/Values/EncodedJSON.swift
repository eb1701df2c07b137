import LockstepJSON

/// A JSON value and its text. Mutations carry both to the state, the table and the journal, so that
/// a write encodes an element only once.
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
