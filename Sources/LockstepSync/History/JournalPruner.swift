import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepTime

/// Prunes the journal in small steps. In each step, snapshots replace the user's oldest entries.
///
/// An entry may be pruned if it is older than `days` and at least `revisions` revisions follow it,
/// or if at least `bytes` bytes of history follow it.
package struct JournalPruner: Sendable {
  static let step = 256

  let policy: HistoryPolicy
  let history: StateHistory

  package init(policy: HistoryPolicy, history: StateHistory) {
    self.policy = policy
    self.history = history
  }

  /// Prunes one step if it is due. Returns the number of pruned revisions.
  func prune(_ user: UserID, now: Timestamp, in connection: SQLiteConnection) throws -> Int {
    let journal = Journal(connection: connection)
    guard let first = try journal.firstRevision(of: user) else { return 0 }
    let end = try journal.end(of: user)
    let aged = try agedBound(from: first, to: end, of: user, now: now, in: connection)
    guard let bound = try aged ?? longBound(from: first, to: end, of: user, in: connection) else { return 0 }
    try keepSnapshots(of: user, at: bound, in: connection)
    try connection.run("DELETE FROM journal WHERE user_id = ? AND revision <= ?", user, bound)
    return bound.number - first.number + 1
  }

  /// The last revision of the oldest step, if it is old enough. Only whole steps are pruned,
  /// because each step costs a snapshot of every collection that changed in it.
  private func agedBound(
    from first: Revision,
    to end: Journal.End,
    of user: UserID,
    now: Timestamp,
    in connection: SQLiteConnection
  ) throws -> Revision? {
    let bound = first.number + Self.step - 1
    let oldest = Timestamp(millisecondsSince1970: now.millisecondsSince1970 - Int64(policy.days) * 86_400_000)
    guard bound <= end.revision.number - max(1, policy.revisions),
      let (revision, time) = try entry(number: bound, of: user, in: connection), time < oldest
    else { return nil }
    return revision
  }

  /// The last revision that too many bytes follow, within one step. Never the user's last revision.
  private func longBound(
    from first: Revision,
    to end: Journal.End,
    of user: UserID,
    in connection: SQLiteConnection
  ) throws -> Revision? {
    let excess = end.written - policy.bytes
    guard excess > 0 else { return nil }
    let kept = try Journal(connection: connection).firstRevision(of: user, past: excess) ?? end.revision
    guard kept > first else { return nil }
    return try entry(number: min(kept.number, first.number + Self.step) - 1, of: user, in: connection)?.revision
  }

  private func entry(
    number: Int,
    of user: UserID,
    in connection: SQLiteConnection
  ) throws -> (revision: Revision, at: Timestamp)? {
    try connection.first(
      "SELECT revision, at FROM journal WHERE user_id = ? AND revision >= ? ORDER BY revision LIMIT 1",
      user,
      Revision(number: number)
    ) { (try $0[0], try $0[1]) }
  }

  /// Adds snapshots of the collections that changed in the pruned entries.
  private func keepSnapshots(of user: UserID, at bound: Revision, in connection: SQLiteConnection) throws {
    let names = try connection.all(
      "SELECT DISTINCT collection FROM journal WHERE user_id = ? AND revision <= ?",
      user,
      bound
    ) { CollectionName(text: try $0[0] as String) }
    let snapshots = Snapshots(connection: connection)
    let states = try history.rebuild(names, of: user, at: bound, from: connection)
    for (name, state) in states {
      try snapshots.keep(state, as: name, of: user, at: bound)
      try snapshots.delete(name, of: user, before: bound)
    }
    let emptied = states.filter { $0.key.part != nil && $0.value.count == 0 }.map(\.key)
    try deleteTraces(of: emptied, user: user, at: bound, in: connection)
  }

  /// Deletes the records of empty collections that have no later entries, because the number of a
  /// user's collections is limited. The collections stay in memory until the user is evicted.
  private func deleteTraces(
    of emptied: [CollectionName],
    user: UserID,
    at bound: Revision,
    in connection: SQLiteConnection
  ) throws {
    guard !emptied.isEmpty else { return }
    let changedSince = try connection.all(
      "SELECT DISTINCT collection FROM journal WHERE user_id = ? AND revision > ?",
      user,
      bound
    ) { CollectionName(text: try $0[0] as String) }
    for name in emptied where !changedSince.contains(name) {
      try RemovalRecords.forget(name, of: user, in: connection)
      try Snapshots(connection: connection).delete(name, of: user)
    }
  }
}
