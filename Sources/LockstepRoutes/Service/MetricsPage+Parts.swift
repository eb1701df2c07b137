import LockstepAccounts
import LockstepMaintenance
import LockstepMiddleware
import LockstepSQLite
import LockstepScreens
import LockstepStore

// The metrics of the server's parts.

extension MetricsPage {
  package mutating func add(_ writer: DatabaseWriter.Statistics) {
    single("lockstep_store_writes_total", "Durable writes.", writer.units)
    single("lockstep_store_failed_writes_total", "Writes refused or not committed.", writer.failedUnits)
    single("lockstep_store_waiting_writes", "Writes that wait for their turn.", writer.waiting)
    single("lockstep_store_failed_commits_total", "Commits that failed with all their writes.", writer.failedCommits)
    histogram("lockstep_store_commit_duration_seconds", "Time of a commit.", writer.commitTime, unit: 1_000_000_000)
    histogram("lockstep_store_commit_writes", "Writes that shared a commit.", writer.groupSize)
    single("lockstep_store_log_pages", "Pages in the write-ahead log.", writer.logPages)
    let name = "lockstep_store_checkpoint_duration_seconds"
    histogram(name, "Time of a checkpoint of the write-ahead log.", writer.checkpointTime, unit: 1_000_000_000)
    let failed = "Checkpoints that failed. Nothing is lost, but the write-ahead log grows."
    single("lockstep_store_failed_checkpoints_total", failed, writer.failedCheckpoints)
  }

  package mutating func addWaiters(waiting: Int, wakings: Int) {
    single("lockstep_waiting_requests", "Requests that wait for a change.", waiting)
    single("lockstep_wakings_total", "Times a waiting request was notified.", wakings)
  }

  package mutating func addCache(users: Int, bytes: Int, loads: Int) {
    single("lockstep_cached_users", "Users whose state is in memory.", users)
    single("lockstep_cache_bytes", "Approximate memory of cached states.", bytes)
    single("lockstep_cache_loads_total", "Times a user's state was read from the store.", loads)
  }

  package mutating func addSessions(cached: Int, _ attempts: AttemptLimiter.Metrics) {
    single("lockstep_cached_sessions", "Sessions in memory.", cached)
    let help = "Refused passwords: wrong ones, and those over the limit on attempts."
    family("lockstep_logins_refused_total", .counter, help)
    sample(Double(attempts.failed), [("reason", "password")])
    sample(Double(attempts.refused), [("reason", "limit")])
  }

  package mutating func addHistory(writtenBytes: Int, prunedRevisions: Int) {
    single("lockstep_history_written_bytes_total", "Bytes of history written since the start.", writtenBytes)
    single("lockstep_history_pruned_revisions_total", "Revisions pruned since the start.", prunedRevisions)
  }

  package mutating func add(_ size: StoreSize, waiting pools: [(name: String, count: Int)]) {
    single("lockstep_store_bytes", "Size of the store's file.", size.bytes)
    single("lockstep_store_log_bytes", "Size of its write-ahead log.", size.logBytes)
    if let free = size.freeBytes { single("lockstep_store_free_bytes", "Free space on the store's disk.", free) }
    family(
      "lockstep_pool_waiting",
      .gauge,
      "Work that waits for a thread: hashing, encoding, time zones, reading users."
    )
    for (name, count) in pools { sample(Double(count), [("pool", name)]) }
  }

  package mutating func add(_ screens: ScreenMetrics) {
    single("lockstep_screens", "Open screens.", screens.open)
    family("lockstep_screens_opened_total", .counter, "Screens opened, by kind.")
    for (kind, count) in screens.opened.sorted(by: { $0.key < $1.key }) { sample(Double(count), [("screen", kind)]) }
    family("lockstep_screen_failures_total", .counter, "Failures of screens' effects and merged streams, by kind.")
    for kind in screens.opened.keys.sorted() { sample(Double(screens.failures[kind] ?? 0), [("screen", kind)]) }
    family("lockstep_screens_ended_total", .counter, "Screens that ended, by reason.")
    for reason in ScreenEnd.allCases { sample(Double(screens.ended[reason] ?? 0), [("reason", reason.rawValue)]) }
  }

  package mutating func add(_ backups: BackupScheduler.Metrics) {
    single("lockstep_backups_total", "Backups made since the start.", backups.made)
    single("lockstep_backup_failures_total", "Backups that failed since the start.", backups.failures)
    let name = "lockstep_backup_last_success_timestamp_seconds"
    single(name, "Time of the newest backup, in seconds since 1970; 0: none.", Double(backups.last ?? 0) / 1000)
    single("lockstep_backup_last_bytes", "Size of the last backup made.", backups.bytes)
    single("lockstep_backup_last_duration_seconds", "Duration of the last backup made.", backups.duration / .seconds(1))
  }
}
