/// Why text is not a JSON Pointer, or why there is no value at a pointer.
public struct JSONPointerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Kind: Sendable, Hashable {
    case missingSlash
    case invalidEscape
    case noSuchMember
    case noSuchElement(count: Int)
    /// The token for an array is not an index. An index is digits without a leading zero.
    case invalidIndex
    case notAContainer
  }

  /// The kind of error.
  public let kind: Kind
  /// The invalid text, or the pointer up to the token without a value.
  public let pointer: String

  /// The message, such as `/items/7 does not exist: the array has 3 elements.`
  public var description: String {
    switch kind {
    case .missingSlash: "A JSON Pointer is empty or begins with a slash, unlike \"\(pointer)\"."
    case .invalidEscape: "In a JSON Pointer \"~\" must be followed by 0 or 1, unlike in \"\(pointer)\"."
    case .noSuchMember: "\(pointer) does not exist: the object has no such member."
    case .noSuchElement(let count):
      "\(pointer) does not exist: the array has \(count) \(count == 1 ? "element" : "elements")."
    case .invalidIndex: "\(pointer) does not exist: an array needs an index (0, 1, 2, …)."
    case .notAContainer: "\(pointer) does not exist: its parent is neither an array nor an object."
    }
  }
}
