/// Why a patch could not be applied. The document has not changed.
public struct JSONPatchError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Kind: Sendable, Hashable {
    /// The value is not the one that `test` requires, or does not exist.
    case testFailed
    /// A value that the operation needs does not exist.
    case notFound(JSONPointerError)
    case moveIntoOwnChild
    case removesDocument
    case tooLarge(limit: Int)
    case tooDeep(limit: Int)
    case tooManyOperations(limit: Int)
    case tooMuchWork(limit: Int)
  }

  /// The kind of error.
  public let kind: Kind
  /// The index of the failed operation, or the number of operations if there are too many.
  public let operationIndex: Int
  /// The pointer to the cause in the patch, such as `/3/path` or `/3/from`.
  public let pointer: JSONPointer

  /// Whether a `test` failed, so the document is not in the expected state.
  public var isFailedTest: Bool { kind == .testFailed }

  /// The message without the operation.
  public var reason: String {
    switch kind {
    case .testFailed: "The value is not the one that the test requires."
    case .notFound(let error): error.description
    case .moveIntoOwnChild: "A value cannot be moved into itself."
    case .removesDocument: "The whole document cannot be removed; replace it instead."
    case .tooLarge(let limit): "The document would take more than \(limit) bytes."
    case .tooDeep(let limit): "The document would be nested deeper than \(limit)."
    case .tooManyOperations(let limit): "The patch has more than \(limit) operations."
    case .tooMuchWork(let limit): "The patch takes more than \(limit) units of work."
    }
  }

  /// The operation and the reason.
  public var description: String { "Operation \(operationIndex): \(reason)" }
}
