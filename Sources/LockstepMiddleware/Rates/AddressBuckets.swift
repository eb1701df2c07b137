import LockstepAccounts
import LockstepThreading

/// The rates of addresses: a bucket for each network that has asked for anything lately. All loops share one table, so that it makes
/// no difference on which of them a connection is.
///
/// Never more than `capacity` are kept, some 100 bytes each. When there are more, those that have the most left are forgotten first,
/// as all are that have everything: a flood of new addresses can't wash out the one that is at its end.
package final class AddressBuckets: Sendable {
  /// A network's bucket.
  final class Bucket: RateLimited {
    private let bucket = RateBucket()

    func take(_ limit: RateLimit, at now: Int64) -> RateBucket.Outcome { bucket.take(limit, at: now) }
    func hasAny(_ limit: RateLimit, at now: Int64) -> Bool { bucket.hasAny(limit, at: now) }
    func recovery(at now: Int64) -> Int64 { bucket.recovery(at: now) }
    func close() { bucket.close() }
  }

  /// So many locks, so that loops rarely meet at one.
  private static let shardCount = 16

  private let shards: [LockedState<[IPAddress: Bucket]>]
  private let shardCapacity: Int

  package init(capacity: Int = 65_536) {
    shardCapacity = max(4, capacity / Self.shardCount)
    shards = (0..<Self.shardCount).map { _ in LockedState([:]) }
  }

  /// How many are kept.
  var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.count } } }

  /// The bucket of the network of a host, as far as limits tell clients apart: an IPv4 address, or the first 64 bits of an IPv6
  /// one. All hosts that are no addresses share one.
  func bucket(ofHost host: String, at now: Int64) -> Bucket {
    let network = IPAddress(host)?.network ?? IPAddress(high: .max, low: .max)
    return shard(of: network).withLock { buckets in
      if let known = buckets[network] { return known }
      if buckets.count >= shardCapacity { makeRoom(in: &buckets, at: now) }
      let bucket = Bucket()
      buckets[network] = bucket
      return bucket
    }
  }

  private func shard(of network: IPAddress) -> LockedState<[IPAddress: Bucket]> {
    // Multiplied by an odd number with many bits, neighbours are spread over the upper ones.
    shards[Int(truncatingIfNeeded: ((network.high ^ network.low) &* 0x9E37_79B9_7F4A_7C15) >> 60)]
  }

  /// Closes those that have everything, and where that isn't enough the quarter that has the most left: so that the cost of looking
  /// through all of them is shared by many. Who still holds one that is closed asks for the new one.
  private func makeRoom(in buckets: inout [IPAddress: Bucket], at now: Int64) {
    let byRecovery = buckets.map { (network: $0.key, recovery: $0.value.recovery(at: now)) }
      .sorted { $0.recovery < $1.recovery }
    let surplus = byRecovery.count - shardCapacity * 3 / 4
    for (index, entry) in byRecovery.enumerated() where entry.recovery == 0 || index < surplus {
      buckets.removeValue(forKey: entry.network)?.close()
    }
  }
}

extension IPAddress {
  /// The network that limits take for one client: IPv4 the address itself, IPv6 its first 64 bits.
  var network: IPAddress { isVersion4 ? self : IPAddress(high: high, low: 0) }
}
