import LockstepAccounts
import LockstepHTTP
import LockstepThreading

/// A rate bucket for each network that sent a request lately, shared by all event loops.
///
/// It keeps at most `capacity` buckets of about 100 bytes. It first evicts buckets whose whole
/// limit is available, then those with the most requests left. So a flood of addresses does not
/// evict one that has used up its limit.
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

  /// The bucket of a host's network. All hosts that are not addresses share one bucket.
  func bucket(ofHost host: String, at now: Int64) -> RateBucket {
    let network = IPAddress(host)?.network ?? IPAddress(high: .max, low: .max)
    // Multiplying by an odd number with many bits spreads neighbours over the upper bits.
    let shard = Int(truncatingIfNeeded: ((network.high ^ network.low) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    return shards[shard].withLock { buckets in
      if let known = buckets[network] { return known }
      if buckets.count >= shardCapacity { makeRoom(in: &buckets, at: now) }
      let bucket = RateBucket()
      buckets[network] = bucket
      return bucket
    }
  }

  /// Evicts buckets whose whole limit is available. If more room is needed, it evicts up to a
  /// quarter of all buckets, so that many requests share the cost of sorting. A request that still
  /// holds an evicted bucket gets the new one.
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
  /// The network that counts as one client: an IPv4 address, or the first half of an IPv6 address.
  var network: IPAddress { isVersion4 ? self : IPAddress(high: high, low: 0) }
}

package struct AddressRates: Sendable {
  package let meter: RateMeter
  private let buckets = AddressBuckets()

  package init(meter: RateMeter) { self.meter = meter }

  /// Supervisors and load balancers poll these. With a limit, a busy server would look broken.
  private static let unlimited: Set<String> = ["/healthz", "/readyz", "/metrics"]

  func respond(to request: Request, _ respond: () throws -> HandlerResult) throws -> HandlerResult {
    if Self.unlimited.contains(request.head.path) { return try respond() }
    let bucket = buckets.bucket(ofHost: request.peer.host, at: request.arrival)
    return try meter.respond(to: bucket, at: request.arrival, respond)
  }
}
