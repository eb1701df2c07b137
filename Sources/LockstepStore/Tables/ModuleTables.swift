import LockstepCollections
import LockstepSQLite

/// All modules' tables together: a user's whole state on disk.
package struct ModuleTables: Sendable {
  private let services: [String: any CollectionTable]
  /// The collections that are there for every user, of the modules that have just one, with their kinds.
  package let fixed: [(name: CollectionName, kind: CollectionMutation.Kind)]

  package init(_ modules: [UserModule]) {
    fixed = modules.filter { !$0.hasParts }.map { (CollectionName($0.name), $0.kind) }
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

  /// Writes a fact to its module's table.
  package func write(
    _ mutation: CollectionMutation,
    before state: CollectionState,
    at place: MutationLocation,
    to connection: SQLiteConnection
  ) throws {
    try services[place.collection.module]?.write(mutation, before: state, at: place, to: connection)
  }

  /// The kind of a module's collections; nil for a name that is no module's.
  package func kind(of module: String) -> CollectionMutation.Kind? { services[module]?.kind }
}
