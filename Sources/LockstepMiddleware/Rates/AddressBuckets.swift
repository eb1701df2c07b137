import LockstepAccounts
import LockstepHTTP
import LockstepThreading

/// A rate bucket for each network that sent a request lately, shared by all event loops.
///
/// At most `capacity` are kept, some 100 bytes each. Full buckets are evicted first, then those
/// with the most left: a flood of new addresses does not evict an address that has used up its
/// limit.
package final class AddressBuckets: Sendable {
  /// Event loops rarely contend for one of so many locks.
  private static let shardCount = 16

  private let shards: [LockedState<[IPAddress: RateBucket]>]
  private let shardCapacity: Int

  package init(capacity: Int = 65_536) {
    shardCapacity = max(4, capacity / Self.shardCount)
    shards = (0..<Self.shardCount).map { _ in LockedState([:]) }
  }

  var count: Int { shards.reduce(0) { $0 + $1.withLock { $0.count } } }

  /// The bucket of a host's network. Hosts that are no addresses share one.
  func bucket(ofHost host: String, at now: Int64) -> RateBucket {
    let network = IPAddress(host)?.network ?? IPAddress(high: .max, low: .max)
    return shard(of: network).withLock { buckets in
      if let known = buckets[network] { return known }
      if buckets.count >= shardCapacity { makeRoom(in: &buckets, at: now) }
      let bucket = RateBucket()
      buckets[network] = bucket
      return bucket
    }
  }

  private func shard(of network: IPAddress) -> LockedState<[IPAddress: RateBucket]> {
    // Multiplying by an odd number with many bits spreads neighbours over the upper bits.
    shards[Int(truncatingIfNeeded: ((network.high ^ network.low) &* 0x9E37_79B9_7F4A_7C15) >> 60)]
  }

  /// Evicts full buckets, and up to a quarter of all: the one with the most left first. Evicting
  /// many at once shares the cost of sorting. A request that still holds a closed bucket gets the
  /// new one.
  private func makeRoom(in buckets: inout [IPAddress: RateBucket], at now: Int64) {
    let byRecovery = buckets.map { (network: $0.key, recovery: $0.value.recovery(at: now)) }
      .sorted { $0.recovery < $1.recovery }
    let surplus = byRecovery.count - shardCapacity * 3 / 4
    for (index, entry) in byRecovery.enumerated() where entry.recovery == 0 || index < surplus {
      buckets.removeValue(forKey: entry.network)?.close()
    }
  }
}

extension IPAddress {
  /// The part that limits count as one client: an IPv4 address, or the first 64 bits of an IPv6 address.
  var network: IPAddress { isVersion4 ? self : IPAddress(high: high, low: 0) }
}

package struct AddressRates: Sendable {
  package let meter: RateMeter
  private let buckets = AddressBuckets()

  package init(meter: RateMeter) { self.meter = meter }

  /// Supervisors and load balancers poll these from few addresses, and must not take a busy server
  /// for a broken one.
  private static let unlimited: Set<String> = ["/healthz", "/readyz", "/metrics"]

  /// Handles a request. Throws 429 past the limit of its address.
  func answer(_ request: Request, _ answer: () throws -> HandlerResult) throws -> HandlerResult {
    if Self.unlimited.contains(request.head.path) { return try answer() }
    let bucket = buckets.bucket(ofHost: request.peer.host, at: request.arrival)
    return try meter.answer(bucket, at: request.arrival, answer)
  }
}
