/// A JSON Patch (RFC 6902): operations that are applied in turn, all of them or none.
public struct JSONPatch: Sendable, Hashable {
  /// One step of a patch.
  public enum Operation: Sendable, Hashable {
    /// Adds a member, or replaces one; inserts an element before an index, or at the end (`-`).
    case add(JSONPointer, JSON)
    /// Removes a member or an element, which must exist.
    case remove(JSONPointer)
    /// Replaces a value, which must exist.
    case replace(JSONPointer, JSON)
    /// Takes a value from one place, which must exist, and adds it at another that is not inside it.
    case move(from: JSONPointer, to: JSONPointer)
    /// Adds a copy of a value, which must exist, at another place.
    case copy(from: JSONPointer, to: JSONPointer)
    /// Demands that a value exists and equals this one (as `JSON` says what equal is).
    case test(JSONPointer, JSON)
  }

  /// The operations, in the order in which they are applied.
  public var operations: [Operation]

  /// A patch of these operations.
  public init(_ operations: [Operation]) {
    self.operations = operations
  }
}

/// What a patch may ask for. A few bytes of patch can double a document over and over, or move
/// the same megabytes about thousands of times; these bounds keep that from doing harm.
public struct JSONPatchLimits: Sendable, Hashable {
  /// How many operations a patch may have: 10,000 unless said otherwise. More are refused.
  public var maximumOperations: Int
  /// How many bytes the document may take as compact JSON: 16 MiB unless said otherwise. An operation that
  /// would make it larger fails, even if a later one would make it small again.
  public var maximumByteCount: Int
  /// How deep arrays and objects may be put inside each other: 128 unless said otherwise, and never more than
  /// `JSONLimits.highestDepth`. An operation that would put one deeper fails.
  public let maximumDepth: Int
  /// How much work all operations together may be: 64 Mi units unless said otherwise, which takes in the order
  /// of a tenth of a second. A unit is a byte of JSON read or a place in an array or object moved up or down.
  /// The operation at which it is used up fails.
  public var maximumWork: Int

  /// Limits with those numbers; the depth is brought into 0…`JSONLimits.highestDepth`.
  public init(
    maximumOperations: Int = 10_000,
    maximumByteCount: Int = 16 << 20,
    maximumDepth: Int = 128,
    maximumWork: Int = 64 << 20
  ) {
    self.maximumOperations = maximumOperations
    self.maximumByteCount = maximumByteCount
    self.maximumDepth = JSONLimits(maximumDepth: maximumDepth).maximumDepth
    self.maximumWork = maximumWork
  }

  /// The limits for patches from outside.
  public static let standard = JSONPatchLimits()
}
