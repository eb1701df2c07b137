/// Text that equals other text if its UTF-8 bytes are the same, as in the store and in JSON.
///
/// Swift's `String` compares by Unicode equivalence: “é” as one scalar equals “é” as two, and the
/// Kelvin sign equals “K”. If such texts were one key, two users, elements or requests would be one
/// in memory and two in the store. So text from outside is never a key as a `String`.
package struct ExactText: Sendable, Hashable, Comparable, ExpressibleByStringLiteral, CustomStringConvertible {
  package let text: String

  @inline(__always)
  package init(_ text: String) { self.text = text }

  package init(stringLiteral text: String) { self.text = text }

  package var description: String { text }

  @inline(__always)
  package static func == (left: ExactText, right: ExactText) -> Bool { left.text.hasSameBytes(as: right.text) }

  /// Orders by the bytes.
  package static func < (left: ExactText, right: ExactText) -> Bool { left.text.precedesInBytes(right.text) }

  @inline(__always)
  package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension String {
  /// The text as a key, and for comparisons of optional texts and of lists.
  @inline(__always)
  package var exact: ExactText { ExactText(self) }
}

extension Sequence<String> {
  /// Whether one of the texts has these bytes.
  package func containsBytes(of text: String) -> Bool { contains { $0.hasSameBytes(as: text) } }
}
