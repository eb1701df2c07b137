/// The name of an element: a favorite's id, a default's key.
///
/// Names are the same when their UTF-8 is, as they are in the store and in JSON. Swift's `String` would take names for the
/// same that look alike, such as “é” in one scalar and in two, and then memory and store would differ.
public struct ElementKey: Sendable, Hashable, Comparable, ExpressibleByStringLiteral, CustomStringConvertible {
  /// The name itself.
  public let text: String

  /// A name.
  public init(_ text: String) {
    self.text = text
  }

  /// A name.
  public init(stringLiteral text: String) {
    self.text = text
  }

  /// The name itself.
  public var description: String { text }

  /// Equal when the bytes are.
  public static func == (left: ElementKey, right: ElementKey) -> Bool {
    let (left, right) = (left.text.utf8, right.text.utf8)
    guard left.count == right.count else { return false }
    let isEqual = left.withContiguousStorageIfAvailable { left in
      right.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
    }
    return (isEqual ?? nil) ?? left.elementsEqual(right)
  }

  /// In the order of their bytes.
  public static func < (left: ElementKey, right: ElementKey) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  /// By the bytes.
  public func hash(into hasher: inout Hasher) {
    // Every string that this process makes lies in one piece.
    let isFed: Void? = text.utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    if isFed == nil { for byte in text.utf8 { hasher.combine(byte) } }
    hasher.combine(UInt8.max)
  }

  package func hasPrefix(_ prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }
}
