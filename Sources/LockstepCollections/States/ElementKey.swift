import LockstepJSON

/// The name of an element: an id or a key.
///
/// Two names are equal if their UTF-8 bytes are equal, as in the store and in JSON. Swift's
/// `String` compares by Unicode equivalence instead: “é” as one scalar equals “é” as two. With such
/// names, memory and store would differ.
public struct ElementKey: Sendable, Hashable, Comparable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name as text.
  public let text: String

  /// A name.
  public init(_ text: String) {
    self.text = text
  }

  /// A name.
  public init(stringLiteral text: String) {
    self.text = text
  }

  /// The name as text.
  public var description: String { text }

  /// Compares the bytes.
  public static func == (left: ElementKey, right: ElementKey) -> Bool { left.text.hasSameBytes(as: right.text) }

  /// Orders by the bytes.
  public static func < (left: ElementKey, right: ElementKey) -> Bool {
    left.text.precedesInBytes(right.text)
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }

  package func hasPrefix(_ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
}
