import LockstepHTTP
import LockstepSQLite
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
    fileprivate let counts: LockedState<[Counts]>

    fileprivate init(routes: Int) {
      counts = LockedState(Array(repeating: Counts(), count: routes))
    }

    func record(route: Int?, status: Status, nanoseconds: Int64) {
      counts.withLock { counts in
        let index = route ?? counts.count - 1
        counts[index].add(status: status.code, count: 1)
        counts[index].durations.record(nanoseconds)
      }
    }

    /// Counts a refusal of the HTTP server, which has no route and no duration.
    func record(refusal status: Status) {
      counts.withLock { $0[$0.count - 1].add(status: status.code, count: 1) }
    }
  }

  package typealias Label = (method: String, pattern: String)

  private let shards: [Shard]
  private let labels: [Label]

  /// Creates counts for each of `routes`, found by its index, and for requests without a route.
  package init(routes: [Label], loops: Int) {
    labels = routes
    shards = (0..<max(1, loops)).map { _ in Shard(routes: routes.count + 1) }
  }

  package func shard(ofLoop loop: Int) -> Shard { shards[loop % shards.count] }

  /// The counts of each route that had requests, in order, then of requests without a route.
  package func total() -> [(label: Label, counts: Counts)] {
    var total = (labels + [(method: "", pattern: "unmatched")]).map { (label: $0, counts: Counts()) }
    for shard in shards {
      let counts = shard.counts.withLock { $0 }
      for index in total.indices { total[index].counts.add(counts[index]) }
    }
    return total.filter { !$0.counts.byStatus.isEmpty }
  }
}
