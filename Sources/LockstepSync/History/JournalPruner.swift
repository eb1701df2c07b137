import LockstepCollections
import LockstepStore
import LockstepTime

/// Prunes the journal in small steps. In each step, snapshots replace the user's oldest entries.
///
/// A step takes several transactions, so that other users' writes need not wait for all of it. First,
/// new snapshots are added. Then one transaction deletes the entries, and the last ones delete the
/// snapshots that became obsolete. After each transaction, all revisions in the journal can be
/// rebuilt. If the server ends in the middle of a step, the next step also deletes what is left.
///
/// A step has 256 revisions. Only the sweep over all users (`HistorySweep`) also prunes a part of a step.
///
/// An entry may be pruned if it is older than `days` and at least `revisions` revisions follow it,
/// or if at least `bytes` bytes of history follow it.
package struct JournalPruner: Sendable {
  static let step = 256
  /// About how many bytes of snapshots a transaction writes, if it writes more than one.
  package static let snapshotBytes = 1024 * 1024

  let policy: HistoryPolicy
  let history: StateHistory
  private let snapshotBytes: Int

  package init(policy: HistoryPolicy, history: StateHistory, snapshotBytes: Int = snapshotBytes) {
    self.policy = policy
    self.history = history
    self.snapshotBytes = snapshotBytes
  }

  /// The next step, if it is due. This reads and rebuilds the collections that changed in the step,
  /// so it must not run on the writer thread. `allowsPart`: a step may be shorter than usual.
  func plan(
    _ user: UserID,
    now: Timestamp,
    allowsPart: Bool = false,
    in connection: StoreConnection
  ) throws -> Plan? {
    let journal = Journal(connection: connection)
    guard let first = try journal.firstRevision(of: user) else { return nil }
    let end = try journal.end(of: user)
    let aged = try agedBound(from: first, to: end, of: user, now: now, allowsPart, in: journal)
    guard let bound = try aged ?? longBound(from: first, to: end, of: user, in: journal) else { return nil }
    let changed = try journal.collections(of: user, changedAfter: .none, upTo: bound)
    let states = try history.rebuild(changed, of: user, at: bound, from: connection)
    let emptied = states.filter { $0.key.part != nil && $0.value.count == 0 }.map(\.key)
    let changedSince =
      emptied.isEmpty ? [] : try journal.collections(of: user, changedAfter: bound, upTo: end.revision)
    return Plan(
      user: user,
      first: first,
      bound: bound,
      end: end.revision,
      emptied: emptied.filter { !changedSince.contains($0) },
      states: states.map { ($0.key, $0.value) }[...],
      snapshotBytes: snapshotBytes
    )
  }

  /// The obsolete snapshots of a user, in parts that one transaction deletes. SQLite overwrites deleted
  /// data, so deleting a snapshot takes about as long as writing it.
  func obsoleteSnapshots(of user: UserID, in connection: StoreConnection) throws -> [[Snapshots.Name]] {
    var (parts, bytes): ([[Snapshots.Name]], Int) = ([], 0)
    for (name, length) in try Snapshots(connection: connection).obsolete(of: user) {
      if parts.isEmpty || bytes + length > snapshotBytes { (parts, bytes) = (parts + [[]], 0) }
      parts[parts.count - 1].append(name)
      bytes += length
    }
    return parts
  }

  /// The last revision of the oldest step, if it is old enough. A step is whole unless `allowsPart`,
  /// because each step costs a snapshot of every collection that changed in it.
  private func agedBound(
    from first: Revision,
    to end: Journal.End,
    of user: UserID,
    now: Timestamp,
    _ allowsPart: Bool,
    in journal: Journal
  ) throws -> Revision? {
    let (bound, last) = (first.number + Self.step - 1, end.revision.number - policy.leastRevisions)
    let oldest = policy.oldest(at: now)
    if bound <= last, let (revision, time) = try journal.firstEntry(of: user, from: bound), time < oldest {
      return revision
    }
    guard allowsPart, first.number <= last else { return nil }
    return try journal.lastRevision(of: user, upTo: min(bound, last), before: oldest)
  }

  /// The last revision that too many bytes follow, within one step. Never the user's last revision.
  private func longBound(
    from first: Revision,
    to end: Journal.End,
    of user: UserID,
    in journal: Journal
  ) throws -> Revision? {
    let excess = end.written - policy.bytes
    guard excess > 0 else { return nil }
    let kept = try journal.firstRevision(of: user, past: excess) ?? end.revision
    guard kept > first else { return nil }
    return try journal.firstEntry(of: user, from: min(kept.number, first.number + Self.step) - 1)?.revision
  }

  /// A step of pruning. Write snapshots until all are taken, and the last ones with `finish`.
  struct Plan: Sendable {
    typealias Snapshot = (name: CollectionName, text: String)

    let user: UserID
    /// The first revision of the journal.
    let first: Revision
    /// The last revision that is pruned.
    let bound: Revision
    /// The last revision that the plan has seen.
    let end: Revision
    /// Named collections that are empty, and that no later entry names.
    let emptied: [CollectionName]
    /// The changed collections at the bound whose snapshots were not taken yet.
    fileprivate(set) var states: ArraySlice<(name: CollectionName, state: CollectionState)>
    fileprivate let snapshotBytes: Int

    /// The next snapshots that one transaction writes, and the rest of the plan. This encodes
    /// collections, so it must not run on the writer thread.
    func takingSnapshots() -> (rest: Plan, snapshots: [Snapshot]) {
      var rest = self
      var (snapshots, bytes): ([Snapshot], Int) = ([], 0)
      while let (name, state) = rest.states.first, snapshots.isEmpty || bytes + state.bytes <= snapshotBytes {
        let text = state.snapshotText
        snapshots.append((name, text))
        bytes += text.utf8.count
        rest.states.removeFirst()
      }
      return (rest, snapshots)
    }

    /// Writes snapshots. Returns false if the plan is no longer valid: the user was erased, another
    /// plan was faster, or the database has lost the bound after a failover.
    func write(_ snapshots: [Snapshot], in connection: StoreConnection) throws -> Bool {
      try connection.lock(user)
      let journal = Journal(connection: connection)
      guard try journal.firstRevision(of: user) == first, try journal.knows(bound, of: user) else { return false }
      let records = Snapshots(connection: connection)
      for (name, text) in snapshots { try records.keep(text, as: name, of: user, at: bound) }
      return true
    }

    /// Writes the last snapshots, and deletes the entries that all of them replace. Returns the number
    /// of pruned revisions, or 0 if the plan is no longer valid.
    func finish(_ snapshots: [Snapshot], in connection: StoreConnection) throws -> Int {
      guard try write(snapshots, in: connection) else { return 0 }
      let journal = Journal(connection: connection)
      for name in emptied where try !journal.hasChanged(name, of: user, after: end) {
        // The number of a user's collections is limited, so the traces of an empty collection are
        // deleted. It stays in memory until the user is evicted.
        try RemovalRecords.forget(name, of: user, in: connection)
        try Snapshots(connection: connection).deleteAll(of: name, of: user)
      }
      try journal.delete(upTo: bound, of: user)
      return bound.number - first.number + 1
    }
  }
}
