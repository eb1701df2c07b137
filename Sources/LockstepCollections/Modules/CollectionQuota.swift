/// The largest size of a module's list or map for one user. An action that would exceed it is
/// refused. Elements that are already there stay.
public struct CollectionQuota: Sendable, Equatable {
  /// Elements. Default 10,000.
  public var elements: Int
  /// Bytes of all elements as JSON, with the keys of a map. Default 16 MiB.
  public var bytes: Int

  /// A quota. Arguments that are left out have their defaults.
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
      throw .quotaExceeded("A user may have \(elements) elements in \(module); this would make it \(after.count).")
    }
    if after.bytes > bytes, after.bytes > before.bytes {
      throw .quotaExceeded("A user may have \(bytes) bytes in \(module); this would make it \(after.bytes).")
    }
  }
}
