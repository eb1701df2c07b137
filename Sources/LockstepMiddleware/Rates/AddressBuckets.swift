import LockstepAccounts
import LockstepHTTP
import LockstepJSON
import LockstepThreading

/// A rate bucket for each network that sent a request recently, shared by all event loops.
///
/// It keeps at most `capacity` buckets of about 100 bytes. It first evicts buckets whose whole
/// burst is available, then those with the most requests left. So a flood of new addresses does not
/// evict the bucket of an address that has used up its limit.
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

  /// The bucket of a host's network. All hosts that are not IP addresses share one bucket.
  func bucket(ofHost host: String, at now: Int64) -> RateBucket {
    let network = IPAddress(host)?.network ?? IPAddress(high: .max, low: .max)
    // Multiplying by an odd number with many bits spreads similar addresses over all shards.
    let shard = Int(truncatingIfNeeded: ((network.high ^ network.low) &* 0x9E37_79B9_7F4A_7C15) >> 60)
    return shards[shard].withLock { buckets in
      if let known = buckets[network] { return known }
      if buckets.count >= shardCapacity { makeRoom(in: &buckets, at: now) }
      let bucket = RateBucket()
      buckets[network] = bucket
      return bucket
    }
  }

  /// Evicts all buckets whose whole burst is available, and at least a quarter of all buckets, so
  /// that many requests share the cost of sorting. It closes the evicted buckets. A cached
  /// response that holds a closed bucket is no longer valid, so the next request is handled in full
  /// and gets a new bucket.
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

  /// Supervisors, load balancers and Prometheus poll these paths. For them, 429 is a failure.
  private static let unlimited: Set<ExactText> = ["/healthz", "/readyz", "/metrics"]

  func respond(
    to head: RequestHead,
    of peer: PeerAddress,
    at arrival: Int64,
    _ respond: () throws -> HandlerResult
  ) throws -> HandlerResult {
    if Self.unlimited.contains(head.path.exact) { return try respond() }
    return try meter.respond(to: buckets.bucket(ofHost: peer.host, at: arrival), at: arrival, respond)
  }
}
