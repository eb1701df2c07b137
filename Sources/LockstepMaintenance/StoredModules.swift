import LockstepCollections
import LockstepModules
import LockstepStore
import LockstepSync

extension ModuleTables {
  /// Takes in the declared collections of a store.
  func readDeclared(from connection: StoreConnection) throws {
    // A backup with an older schema has none.
    guard try connection.hasDeclaredCollections() else { return }
    let content = try DeclaredCollectionsTable().load(from: connection)
    modules.publish(modules.current.replacing(content) { .declared($0) })
  }
}
