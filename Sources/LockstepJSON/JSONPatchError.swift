/// Why a patch could not be applied. Nothing has been changed.
public struct JSONPatchError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What went wrong.
  public enum Kind: Sendable, Hashable {
    /// The value that a `test` demands is not there: another one is, or none.
    case testFailed
    /// What the operation needs does not exist, or a token is no index of the array it is for.
    case notFound(JSONPointerError)
    /// A value cannot be moved into itself.
    case moveIntoOwnChild
    /// The whole document can be replaced but not removed.
    case removesDocument
    /// The document would take more bytes than the limits allow.
    case tooLarge(limit: Int)
    /// The document would be deeper than the limits allow.
    case tooDeep(limit: Int)
    /// The patch has more operations than the limits allow.
    case tooManyOperations(limit: Int)
    /// The operations together are more work than the limits allow.
    case tooMuchWork(limit: Int)
  }

  /// What went wrong.
  public let kind: Kind
  /// Which operation failed, from 0; the count of the operations when they are too many.
  public let operationIndex: Int
  /// The place in the patch document that is to blame, e.g. `/3/path` or `/3/from`.
  public let pointer: JSONPointer

  /// Whether the patch was stopped by a `test`, i.e. the document is not in the state that the patch expects.
  public var isFailedTest: Bool {
    kind == .testFailed
  }

  /// What went wrong as a sentence without the place, e.g. `The value to test is another one.`
  public var reason: String {
    switch kind {
    case .testFailed: "The value is not the one that the test demands."
    case .notFound(let error): error.description
    case .moveIntoOwnChild: "A value cannot be moved into itself."
    case .removesDocument: "The whole document cannot be removed; replace it instead."
    case .tooLarge(let limit): "The document would take more than \(limit) bytes."
    case .tooDeep(let limit): "The document would be nested deeper than \(limit)."
    case .tooManyOperations(let limit): "The patch has more than \(limit) operations."
    case .tooMuchWork(let limit): "The patch takes more than \(limit) units of work."
    }
  }

  /// The operation and the reason, e.g. `Operation 3: A value cannot be moved into itself.`
  public var description: String {
    "Operation \(operationIndex): \(reason)"
  }
}
