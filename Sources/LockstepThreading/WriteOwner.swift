/// The owner of writes. Writes of one owner run in the order of submission, and share a limit on the
/// writer's time.
@usableFromInline
package struct WriteOwner: Sendable, Hashable {
  private let high: UInt64
  private let low: UInt64
  /// Identifies the client's network; nil if the write has none. The same owner may write from several
  /// networks, so this is not a part of the owner's identity.
  package let network: Int?

  /// An owner with a unique number of 128 bits.
  package init(_ high: UInt64, _ low: UInt64, network: Int? = nil) {
    self.high = high
    self.low = low
    self.network = network
  }

  @usableFromInline
  package static func == (left: WriteOwner, right: WriteOwner) -> Bool {
    left.high == right.high && left.low == right.low
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) {
    hasher.combine(high)
    hasher.combine(low)
  }
}

/// A write that waits for the writer.
@usableFromInline
package protocol OwnedWrite: Sendable {
  /// Nil if the write is never throttled.
  var owner: WriteOwner? { get }
}
