/// A JSON Patch (RFC 6902): operations that are applied in order, all or none.
public struct JSONPatch: Sendable, Hashable {
  /// One step of a patch.
  public enum Operation: Sendable, Hashable {
    /// Sets a member, or inserts an element before an index or at the end (`-`).
    case add(JSONPointer, JSON)
    /// Removes a member or an element, which must exist.
    case remove(JSONPointer)
    /// Replaces a value, which must exist.
    case replace(JSONPointer, JSON)
    /// Removes a value, which must exist, and adds it at another place, but not inside itself.
    case move(from: JSONPointer, to: JSONPointer)
    /// Adds a copy of a value, which must exist, at another place.
    case copy(from: JSONPointer, to: JSONPointer)
    /// Requires that a value exists and equals this one.
    case test(JSONPointer, JSON)

    /// All places that the operation names.
    package var pointers: [JSONPointer] {
      switch self {
      case .add(let path, _), .remove(let path), .replace(let path, _), .test(let path, _): [path]
      case .move(let source, let path), .copy(let source, let path): [source, path]
      }
    }
  }

  /// The operations, in order.
  public var operations: [Operation]

  /// A patch of these operations.
  public init(_ operations: [Operation]) { self.operations = operations }
}

/// The limits of a patch. Without them, a few bytes could double a document many times.
public struct JSONPatchLimits: Sendable, Hashable {
  /// The greatest number of operations. Default: 10,000.
  public var maximumOperations = 10_000
  /// The greatest size of the document as compact JSON, after each operation. Default: 16 MiB.
  public var maximumByteCount = 16 << 20
  /// The greatest nesting depth, clamped to 0…`JSON.highestDepth`. Default: 128.
  public var maximumDepth = 128
  /// The greatest amount of work of all operations together. A unit is a byte of JSON read, or an
  /// element or member moved. Default: 64 Mi units, about a tenth of a second.
  public var maximumWork = 64 << 20

  /// The default limits. For other limits, change a copy.
  public static let standard = JSONPatchLimits()
}
