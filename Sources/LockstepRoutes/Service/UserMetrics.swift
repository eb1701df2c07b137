import LockstepAccounts
import LockstepMiddleware
import LockstepSQLite

/// What is measured of users and their store.
package struct UserMetrics: Sendable {
  let writer: DatabaseWriter.Statistics
  let waitingRequests: Int
  let wakings: Int
  let cachedUsers: Int
  let cacheBytes: Int
  let cacheLoads: Int
  let sessions: Int
  let attempts: AttemptLimiter.Metrics
  let history: (writtenBytes: Int, prunedRevisions: Int)

  package init(
    writer: DatabaseWriter.Statistics,
    waitingRequests: Int,
    wakings: Int,
    cachedUsers: Int,
    cacheBytes: Int,
    cacheLoads: Int,
    sessions: Int,
    attempts: AttemptLimiter.Metrics,
    history: (writtenBytes: Int, prunedRevisions: Int)
  ) {
    self.writer = writer
    self.waitingRequests = waitingRequests
    self.wakings = wakings
    self.cachedUsers = cachedUsers
    self.cacheBytes = cacheBytes
    self.cacheLoads = cacheLoads
    self.sessions = sessions
    self.attempts = attempts
    self.history = history
  }

  /// Writes their families.
  func write(to page: inout MetricsPage) {
    writeStore(to: &page)
    page.single("lockstep_waiting_requests", .gauge, "Requests that wait for a change now.", Double(waitingRequests))
    page.single(
      "lockstep_wakings_total",
      .counter,
      "Times a waiting request was woken to look whether it is concerned.",
      Double(wakings)
    )
    page.single("lockstep_cached_users", .gauge, "Users whose state is in memory.", Double(cachedUsers))
    page.single("lockstep_cache_bytes", .gauge, "About how much memory their states take.", Double(cacheBytes))
    page.single(
      "lockstep_cache_loads_total",
      .counter,
      "Times a user's state wasn't in memory and was read from the store.",
      Double(cacheLoads)
    )
    page.single("lockstep_cached_sessions", .gauge, "Sessions that are in memory.", Double(sessions))
    page.family(
      "lockstep_logins_refused_total",
      .counter,
      "Passwords that were wrong, and those that weren't looked at because there were too many wrong ones."
    )
    page.sample(Double(attempts.failed), [("reason", "password")])
    page.sample(Double(attempts.refused), [("reason", "limit")])
    page.single(
      "lockstep_history_written_bytes_total",
      .counter,
      "Bytes of users' history written since the server started.",
      Double(history.writtenBytes)
    )
    page.single(
      "lockstep_history_pruned_revisions_total",
      .counter,
      "Revisions of users' history that have gone since the server started.",
      Double(history.prunedRevisions)
    )
  }

  private func writeStore(to page: inout MetricsPage) {
    page.single("lockstep_store_writes_total", .counter, "Writes that are on disk.", Double(writer.units))
    page.single(
      "lockstep_store_failed_writes_total",
      .counter,
      "Writes of which nothing was kept, because they were refused or couldn't be committed.",
      Double(writer.failedUnits)
    )
    page.single("lockstep_store_waiting_writes", .gauge, "Writes that wait for their turn now.", Double(writer.waiting))
    page.single(
      "lockstep_store_failed_commits_total",
      .counter,
      "Commits that failed with all the writes in them.",
      Double(writer.failedCommits)
    )
    page.histogram(
      "lockstep_store_commit_duration_seconds",
      "How long the disk took for a commit.",
      writer.commitTime,
      unit: 1_000_000_000
    )
    page.histogram("lockstep_store_commit_writes", "How many writes shared a commit.", writer.groupSize)
    page.single("lockstep_store_log_pages", .gauge, "Pages that the write-ahead log holds.", Double(writer.logPages))
    page.histogram(
      "lockstep_store_checkpoint_duration_seconds",
      "How long it took to move the log's pages into the database.",
      writer.checkpointTime,
      unit: 1_000_000_000
    )
    page.single(
      "lockstep_store_failed_checkpoints_total",
      .counter,
      "Times that couldn't be done; nothing is lost, but the log grows.",
      Double(writer.failedCheckpoints)
    )
  }
}
