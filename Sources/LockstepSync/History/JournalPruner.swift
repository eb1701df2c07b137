import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepThreading
import LockstepTime

/// Keeps the journal from growing for ever, in small steps: now and then, after a user's transaction, a little of what is
/// oldest of theirs goes, and a snapshot takes its place.
///
/// What goes is older than `days`, and there are more than `revisions` after it; or there are more than `bytes` after it.
/// The present state is in tables of its own and is never touched.
package struct JournalPruner: Sendable {
  /// How many revisions go in one step.
  static let step = 256

  let policy: HistoryPolicy
  let history: StateHistory

  package init(policy: HistoryPolicy, history: StateHistory) {
    self.policy = policy
    self.history = history
  }

  /// Prunes a step, if all of it may go. Gives how many revisions went.
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

  /// Up to where all is old and long past. A whole step or nothing: each costs a snapshot of all collections that changed in
  /// it.
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

  /// Up to where more follows than the history may take: a step at most, and never the last revision.
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

  /// Collections that change in what goes need a snapshot in its place.
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
      try snapshots.forget(name, of: user, before: bound)
    }
    let emptied = states.filter { $0.key.part != nil && $0.value.count == 0 }.map(\.key)
    try forget(emptied, of: user, at: bound, in: connection)
  }

  /// Forgets collections of which nothing is left, neither in them nor to tell of them: an app may make one for each thing it
  /// does, and only so many are known at a time. Who has them in memory forgets them with all the rest of the user.
  private func forget(
    _ emptied: [CollectionName],
    of user: UserID,
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
      try Snapshots(connection: connection).forget(name, of: user)
    }
  }
}
