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

  /// The next step, if it is due. This reads and rebuilds the collections that changed in the step,
  /// so it must not run on the writer thread.
  func plan(_ user: UserID, now: Timestamp, in connection: SQLiteConnection) throws -> Plan? {
    let journal = Journal(connection: connection)
    guard let first = try journal.firstRevision(of: user) else { return nil }
    let end = try journal.end(of: user)
    let aged = try agedBound(from: first, to: end, of: user, now: now, in: connection)
    guard let bound = try aged ?? longBound(from: first, to: end, of: user, in: connection) else { return nil }
    let changed = try names(of: user, upTo: bound, in: connection)
    let states = try history.rebuild(changed, of: user, at: bound, from: connection)
    let emptied = states.filter { $0.key.part != nil && $0.value.count == 0 }.map(\.key)
    let changedSince = emptied.isEmpty ? [] : try names(of: user, after: bound, upTo: end.revision, in: connection)
    return Plan(
      user: user,
      first: first,
      bound: bound,
      end: end.revision,
      snapshots: states.mapValues(\.snapshotText),
      emptied: emptied.filter { !changedSince.contains($0) }
    )
  }

  /// The collections that changed after one revision, up to another one.
  private func names(
    of user: UserID,
    after start: Revision = .none,
    upTo end: Revision,
    in connection: SQLiteConnection
  ) throws -> [CollectionName] {
    try connection.all(
      "SELECT DISTINCT collection FROM journal WHERE user_id = ? AND revision > ? AND revision <= ?",
      user,
      start,
      end
    ) { CollectionName(text: try $0[0] as String) }
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

  /// A step of pruning, ready to be written.
  struct Plan: Sendable {
    let user: UserID
    /// The first revision of the journal.
    let first: Revision
    /// The last revision that is pruned.
    let bound: Revision
    /// The last revision that the plan has seen.
    let end: Revision
    /// The texts of the collections that changed in the step, at the bound.
    let snapshots: [CollectionName: String]
    /// Named collections that are empty, and that no later entry names.
    let emptied: [CollectionName]

    /// Prunes the step. Returns the number of pruned revisions, or 0 if another plan was faster.
    func run(in connection: SQLiteConnection) throws -> Int {
      guard try Journal(connection: connection).firstRevision(of: user) == first else { return 0 }
      let records = Snapshots(connection: connection)
      for (name, text) in snapshots {
        try records.keep(text, as: name, of: user, at: bound)
        try records.delete(name, of: user, before: bound)
      }
      for name in emptied where try !hasChanged(name, in: connection) {
        // The number of a user's collections is limited, so the traces of an empty collection are
        // deleted. It stays in memory until the user is evicted.
        try RemovalRecords.forget(name, of: user, in: connection)
        try records.delete(name, of: user)
      }
      try connection.run("DELETE FROM journal WHERE user_id = ? AND revision <= ?", user, bound)
      return bound.number - first.number + 1
    }

    /// Whether a collection has changed since the plan was made.
    private func hasChanged(_ name: CollectionName, in connection: SQLiteConnection) throws -> Bool {
      try connection.first(
        "SELECT 1 FROM journal WHERE user_id = ? AND revision > ? AND collection = ? LIMIT 1",
        user,
        end,
        name.description
      ) { _ in true } ?? false
    }
  }
}
