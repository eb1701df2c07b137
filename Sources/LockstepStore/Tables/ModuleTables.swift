import LockstepCollections
import LockstepSQLite

/// All modules' tables together: a user's whole state on disk.
package struct ModuleTables: Sendable {
  private let modules: [String: UserModule]
  private let services: [String: any CollectionTable]
  /// The collections that are there for every user, of the modules that have just one, with their kinds.
  package let fixed: [(name: CollectionName, kind: CollectionMutation.Kind)]

  package init(_ modules: [UserModule]) {
    fixed = modules.filter { !$0.hasParts }.map { (CollectionName($0.name), $0.kind) }
    self.modules = Dictionary(uniqueKeysWithValues: modules.map { ($0.name, $0) })
    services = Dictionary(uniqueKeysWithValues: modules.map { ($0.name, $0.service) })
  }

  /// A user's present state; an empty one where there is nothing of them.
  package func load(_ user: UserID, from connection: SQLiteConnection) throws -> UserState {
    var state = UserState()
    let end = try Journal(connection: connection).end(of: user)
    (state.revision, state.written) = (end.revision, end.written)
    for service in services.values {
      state.collections.merge(try service.load(of: user, from: connection)) { _, last in last }
    }
    return state
  }

  /// Writes a transaction: the changes to the tables, and the entries of the journal.
  package func apply(_ writeSet: WriteSet, to connection: SQLiteConnection) throws {
    for (collection, edits) in writeSet.edits {
      let location = MutationLocation(user: writeSet.user, collection: collection, revision: writeSet.revision)
      try services[collection.module]?.apply(edits, at: location, to: connection)
    }
    let journal = Journal(connection: connection)
    for entry in writeSet.entries { try journal.add(entry, of: writeSet.user) }
  }

  /// How a module's collections change; nil for a name that is no module's.
  package func reducer(of module: String) -> CollectionReducer? { modules[module]?.reducer }

  /// How much a user may have of a module's collections; nil if its reactor sees to that.
  package func quota(of module: String) -> CollectionQuota? { modules[module]?.quota }
}
