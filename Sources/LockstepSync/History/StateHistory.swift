import LockstepCollections
import LockstepStore

/// Rebuilds past states from a snapshot and the mutations after it.
package struct StateHistory: Sendable {
  let states: ModuleTables

  package init(states: ModuleTables) {
    self.states = states
  }

  package enum Extent: Sendable {
    case collection(CollectionName)
    case module(String)
  }

  /// Some collections of a state after a revision; nil if the journal does not have the revision.
  /// `start` is an earlier state of the user, if there is one in memory.
  package func state(
    of user: UserID,
    at revision: Revision,
    _ extent: Extent,
    after start: UserState? = nil,
    from connection: StoreConnection
  ) throws -> UserState? {
    guard try knows(revision, of: user, from: connection) else { return nil }
    let names: Set<CollectionName>
    switch extent {
    case .collection(let name): names = [name]
    case .module(let module):
      guard states[module] != nil else { return nil }
      names = try Journal(connection: connection).recordedCollections(of: user).filter { $0.module == module }
    }
    var state = UserState()
    state.revision = revision
    state.collections = try rebuild(names, of: user, at: revision, after: start, from: connection).filter {
      $0.value.revision > .none
    }
    return state
  }

  /// Whether the state after a revision can be rebuilt, because the revision is in the history and
  /// not pruned.
  package func knows(_ revision: Revision, of user: UserID, from connection: StoreConnection) throws -> Bool {
    try Journal(connection: connection).knows(revision, of: user)
  }

  /// The collections as they were after a revision that is not pruned, made from `start` or from
  /// snapshots. This reads the journal once for all collections, because the journal is not ordered
  /// by collection. `changed` gets the edits of each replayed entry, in order.
  package func rebuild(
    _ names: some Sequence<CollectionName>,
    of user: UserID,
    at revision: Revision,
    after start: UserState? = nil,
    from connection: StoreConnection,
    changed: (CollectionName, Revision, CollectionEdits) -> Void = { _, _, _ in }
  ) throws -> [CollectionName: CollectionState] {
    // History is pruned from its beginning. So if the journal still has the revision of the start, it
    // has all later entries.
    let start = try start.flatMap { try knows($0.revision, of: user, from: connection) ? $0 : nil }
    let ends = try RemovalRecords.ends(of: user, in: connection)
    var rebuilt: [CollectionName: Rebuilt] = [:]
    for name in names {
      guard let reducer = states[name.module]?.reducer else { continue }
      // Earlier entries belong to a collection that was deleted, or had another kind.
      let beginning = ends[name, default: .none]
      if let start, start.revision >= beginning {
        let state = start.collections[name] ?? reducer.initialState
        rebuilt[name] = Rebuilt(reducer: reducer, since: start.revision, state: state)
      } else {
        let snapshot = try Snapshots(connection: connection).latest(of: name, of: user, upTo: revision)
        if let snapshot, snapshot.revision > beginning {
          rebuilt[name] = Rebuilt(reducer: reducer, since: snapshot.revision, state: snapshot.state)
        } else {
          let empty = reducer.initialState
          let state = beginning > .none && beginning <= revision ? empty.changed(at: beginning) : empty
          rebuilt[name] = Rebuilt(reducer: reducer, since: beginning, state: state)
        }
      }
    }
    guard let start = rebuilt.values.map(\.since).min() else { return [:] }
    let journal = Journal(connection: connection)
    let only = rebuilt.count == 1 ? rebuilt.keys.first : nil
    try journal.forEachMutation(of: user, in: only, after: start, upTo: revision) { name, revision, mutations in
      guard let reducer = rebuilt[name]?.reducer, let since = rebuilt[name]?.since, revision > since else { return }
      let edits = rebuilt[name]?.state.reduce(try mutations(reducer.kind), by: reducer, revision: revision)
      if let edits { changed(name, revision, edits) }
    }
    return rebuilt.mapValues(\.state)
  }

  private struct Rebuilt {
    let reducer: CollectionReducer
    let since: Revision
    var state: CollectionState
  }
}
