import SQLite

/// Past states, rebuilt from a snapshot and the facts behind it.
struct History: Sendable {
  let states: StateTables

  /// A user's state as it was after a revision, of one module alone; nil where the journal doesn't tell.
  func state(of user: UserID, at revision: Int, _ module: String, from connection: Connection) throws -> UserState? {
    let journal = Journal(connection: connection)
    guard let kind = states.kind(of: module), try revision <= journal.lastRevision(of: user),
      try revision >= earliest(of: user, in: journal)
    else { return nil }
    var state = UserState()
    state.revision = revision
    for name in try collections(of: user, module: module, from: connection) {
      let collection = try rebuild(name, kind, of: user, at: revision, from: connection)
      if collection.revision > 0 { state.collections[name] = collection }
    }
    return state
  }

  /// The collections of a module that the past knows of.
  private func collections(
    of user: UserID,
    module: String,
    from connection: Connection
  ) throws -> Set<CollectionName> {
    let names = try connection.all(
      "SELECT collection FROM journal WHERE user_id = ?1 UNION SELECT collection FROM snapshots WHERE user_id = ?1",
      user
    ) { CollectionName(text: try $0[0] as String) }
    return Set(names.filter { $0.module == module })
  }

  /// The earliest revision that can be rebuilt: the one before the journal's first entry.
  func earliest(of user: UserID, from connection: Connection) throws -> Int {
    try earliest(of: user, in: Journal(connection: connection))
  }

  /// A collection as it was after a revision that the journal still covers.
  func rebuild(
    _ name: CollectionName,
    _ kind: CollectionMutation.Kind,
    of user: UserID,
    at revision: Int,
    from connection: Connection
  ) throws -> CollectionState {
    let snapshot = try Snapshots(connection: connection).latest(of: name, of: user, upTo: revision)
    var state = snapshot?.state ?? (kind == .list ? .list(ListState()) : .map(MapState()))
    let facts = try Journal(connection: connection).mutations(
      of: user,
      in: name,
      kind: kind,
      after: snapshot?.revision ?? 0,
      upTo: revision
    )
    for (revision, mutations) in facts { state.apply(mutations, revision: revision) }
    return state
  }

  private func earliest(of user: UserID, in journal: Journal) throws -> Int {
    try journal.firstRevision(of: user).map { $0 - 1 } ?? 0
  }
}
