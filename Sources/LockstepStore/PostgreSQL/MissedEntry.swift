import LockstepCollections
import LockstepJSON
import LockstepPostgreSQL

/// An entry of a user's journal that another node may have written.
struct MissedEntry {
  let revision: Revision
  let collection: CollectionName
  let mutations: [UInt8]
  let written: Int

  /// Reads the columns number, era, collection, mutations and written, which begin at `column`.
  init(_ row: borrowing PostgreSQLRow, at column: Int) throws {
    revision = Revision(number: try row.integer(at: column), eraNumber: try row.integer(at: column + 1))
    collection = CollectionName(text: try row.text(at: column + 2))
    mutations = Array(try row.text(at: column + 3).utf8)
    written = Journal.possible(try row.integer(at: column + 4))
  }
}

extension UserState {
  /// The state with entries of the user's journal that follow it. The entries are in order, and may begin
  /// before the state's end. Throws `StaleStateError` if entries are missing, or if the state is not in
  /// the history.
  func applying(_ entries: [MissedEntry], by tables: ModuleTables) throws -> UserState {
    var state = self
    for entry in entries {
      if entry.revision.number <= revision.number {
        // An entry with the state's own number has another era.
        if entry.revision.number == revision.number, entry.revision != revision { throw StaleStateError() }
        continue
      }
      guard entry.revision.number <= state.revision.number + 1,
        let reducer = tables[entry.collection.module]?.reducer
      else { throw StaleStateError() }
      let mutations = (JSON(trusting: entry.mutations).arrayValue ?? []).compactMap {
        CollectionMutation($0, of: reducer.kind)
      }
      _ = state.reduce(mutations, in: entry.collection, by: reducer, revision: entry.revision)
      (state.revision, state.written) = (entry.revision, entry.written)
    }
    return state
  }
}

/// The state in memory is not in the user's history: the database was restored, or a standby without the
/// last commits was promoted. Or this node does not know a collection of the history, because another node
/// has just declared or deleted it.
package struct StaleStateError: Error {
  package init() {}
}
