/// The name of an element: an id or a key.
///
/// Two names are equal if their UTF-8 bytes are equal, as in the store and in JSON. Swift's
/// `String` compares by Unicode equivalence instead: “é” as one scalar equals “é” as two. Then
/// memory and store would differ.
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
  public static func == (left: ElementKey, right: ElementKey) -> Bool {
    let (left, right) = (left.text.utf8, right.text.utf8)
    guard left.count == right.count else { return false }
    let isEqual = left.withContiguousStorageIfAvailable { left in
      right.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
    }
    return (isEqual ?? nil) ?? left.elementsEqual(right)
  }

  /// Orders by the bytes.
  public static func < (left: ElementKey, right: ElementKey) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    // Strings that this process makes are contiguous.
    let isFed: Void? = text.utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    if isFed == nil { for byte in text.utf8 { hasher.combine(byte) } }
    hasher.combine(UInt8.max)
  }

  package func hasPrefix(_ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
}
