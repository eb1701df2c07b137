/// How much a user may have of a module's list or map. Past it an action that would make it more is refused and changes nothing;
/// what is there stays.
public struct CollectionQuota: Sendable, Equatable {
  /// Elements. Default 10,000.
  public var elements: Int
  /// Bytes of all elements as JSON, with the keys of a map. Default 16 MiB.
  public var bytes: Int

  /// A quota; what isn't said is the default.
  public init(elements: Int = 10_000, bytes: Int = 16 * 1024 * 1024) {
    self.elements = elements
    self.bytes = bytes
  }

  /// Refuses a change after which a collection has more than it may have, and more than before.
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
