/// The largest size of a module's list or map for one user. The server refuses an action that would
/// exceed it. Existing elements stay.
public struct CollectionQuota: Sendable, Equatable {
  /// The number of elements. Default: 10,000.
  public var elements: Int
  /// The bytes of all elements as JSON, including the keys of a map. Default: 16 MiB.
  public var bytes: Int

  /// Creates a quota. A limit that is left out has its default value.
  public init(elements: Int = 10_000, bytes: Int = 16 * 1024 * 1024) {
    self.elements = elements
    self.bytes = bytes
  }

  /// Refuses a change that grows a collection beyond its quota.
  package func check(
    _ before: (count: Int, bytes: Int),
    _ after: (count: Int, bytes: Int),
    of module: String
  ) throws(Refusal) {
    if after.count > elements, after.count > before.count {
      throw .quotaExceeded("A user may have \(elements) elements in \(module), not \(after.count).")
    }
    if after.bytes > bytes, after.bytes > before.bytes {
      throw .quotaExceeded("A user may have \(bytes) bytes in \(module), not \(after.bytes).")
    }
  }
}
