import LockstepMiddleware
import LockstepStore

/// What is measured of the store's files and of the pools that work for it.
package struct StoreMetrics: Sendable {
  let size: StoreSize
  /// How much waits in each pool, by its name.
  let waiting: [(pool: String, count: Int)]

  package init(size: StoreSize, waiting: [(pool: String, count: Int)]) {
    self.size = size
    self.waiting = waiting
  }

  /// Writes their families.
  func write(to page: inout MetricsPage) {
    page.single("lockstep_store_bytes", .gauge, "How large the store's file is.", Double(size.bytes))
    page.single("lockstep_store_log_bytes", .gauge, "How large its write-ahead log is.", Double(size.logBytes))
    if let free = size.freeBytes {
      page.single("lockstep_store_free_bytes", .gauge, "What may still be written to its disk.", Double(free))
    }
    page.family(
      "lockstep_pool_waiting",
      .gauge,
      "Work that waits for a thread now: passwords to be hashed, long answers to be made, time zones and users to be read."
    )
    for (pool, count) in waiting { page.sample(Double(count), [("pool", pool)]) }
  }
}
