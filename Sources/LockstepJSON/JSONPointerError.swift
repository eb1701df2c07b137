/// Why a text is no JSON Pointer, or why a pointer leads nowhere.
public struct JSONPointerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public enum Kind: Sendable, Hashable {
    /// The text is not empty and does not begin with a slash.
    case missingSlash
    /// A `~` that neither `0` nor `1` follows.
    case invalidEscape
    /// The object has no member with that name.
    case noSuchMember
    /// The array has only so many elements.
    case noSuchElement(count: Int)
    /// The token for an array is no index: digits without a needless zero in front.
    case invalidIndex
    /// What should hold more is neither an array nor an object.
    case notAContainer
  }

  /// What is wrong.
  public let kind: Kind
  /// The text that is no pointer, or the pointer up to the token at which the way ends.
  public let pointer: String

  /// What is wrong as a sentence, e.g. `/items/7 does not exist: the array has 3 elements.`
  public var description: String {
    switch kind {
    case .missingSlash: "A JSON Pointer is empty or begins with a slash, unlike \"\(pointer)\"."
    case .invalidEscape: "In a JSON Pointer \"~\" must be followed by 0 or 1, unlike in \"\(pointer)\"."
    case .noSuchMember: "\(pointer) does not exist: the object has no such member."
    case .noSuchElement(let count):
      "\(pointer) does not exist: the array has \(count) \(count == 1 ? "element" : "elements")."
    case .invalidIndex: "\(pointer) does not exist: an array needs an index (0, 1, 2, …)."
    case .notAContainer: "\(pointer) does not exist: what is before it is neither an array nor an object."
    }
  }
}
