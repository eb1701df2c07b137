import LockstepHTTP
import LockstepSQLiteStore
import LockstepThreading

/// The number and the duration of each route's requests, by status.
///
/// Each event loop has its own counts, so that loops do not contend. `total()` adds them up.
package final class RequestMetrics: Sendable {
  /// The upper bounds of the histogram's buckets, in seconds.
  package static let bounds: [Double] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]
  private static let nanosecondBounds = bounds.map { Int64($0 * 1_000_000_000) }

  package struct Counts: Sendable {
    package var byStatus: [(status: Int, count: Int)] = []
    /// In nanoseconds.
    package var durations = Histogram(bounds: RequestMetrics.nanosecondBounds)

    fileprivate mutating func add(status: Int, count: Int) {
      if let index = byStatus.firstIndex(where: { $0.status == status }) {
        byStatus[index].count += count
      } else {
        byStatus.append((status, count))
      }
    }

    fileprivate mutating func add(_ other: Counts) {
      for entry in other.byStatus { add(status: entry.status, count: entry.count) }
      durations.add(other.durations)
    }
  }

  package final class Shard: Sendable {
    /// By slot. The first one is for requests without a route.
    fileprivate let counts = LockedState([Counts()])

    func record(route: MatchedRoute?, status: Status, nanoseconds: Int64) {
      counts.withLock { counts in
        let slot = route?.slot ?? 0
        while counts.count <= slot { counts.append(Counts()) }
        counts[slot].add(status: status.code, count: 1)
        counts[slot].durations.record(nanoseconds)
      }
    }

    /// Counts a refusal of the HTTP server, which has no route and no duration.
    func record(refusal status: Status) {
      counts.withLock { $0[0].add(status: status.code, count: 1) }
    }
  }

  package struct Label: Sendable, Hashable {
    package let method: String
    package let pattern: String

    package init(method: String, pattern: String) {
      (self.method, self.pattern) = (method, pattern)
    }
  }

  private struct Labels: Sendable {
    var inOrder: [Label] = []
    var slots: [Label: Int] = [:]
  }

  private let shards: [Shard]
  private let labels = LockedState(Labels())

  package init(loops: Int) {
    shards = (0..<max(1, loops)).map { _ in Shard() }
  }

  package func shard(ofLoop loop: Int) -> Shard { shards[loop % shards.count] }

  /// The slot for the counts of a route, which is the same for all loops. Only code may choose labels,
  /// because each one takes some memory until the server stops.
  package func slot(of label: Label) -> Int {
    labels.withLock { labels in
      if let known = labels.slots[label] { return known }
      labels.inOrder.append(label)
      labels.slots[label] = labels.inOrder.count
      return labels.inOrder.count
    }
  }

  /// The counts of each route that had requests, in order, then of requests without a route.
  package func total() -> [(label: Label, counts: Counts)] {
    let labels = labels.withLock { $0.inOrder }
    var total = (labels + [Label(method: "", pattern: "unmatched")]).map { (label: $0, counts: Counts()) }
    for shard in shards {
      for (slot, counts) in shard.counts.withLock({ $0 }).enumerated() {
        total[slot == 0 ? total.count - 1 : slot - 1].counts.add(counts)
      }
    }
    return total.filter { !$0.counts.byStatus.isEmpty }
  }
}
