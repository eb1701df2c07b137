import LockstepCollections
import LockstepModules
import LockstepStore

/// Reads the declared collections of a store for an operator's command. A server may use the store.
package struct DeclarationsReader: Sendable {
  let store: ReadableStore

  package init(of store: StoreLocation) throws {
    self.store = try ReadableStore(store)
  }

  /// The declared collections, with the modules of this program.
  package func collections(_ modules: [UserModule]) throws -> ModuleSet {
    try store.read { connection in
      ModuleSet(modules).replacing(try DeclaredCollectionsTable().load(from: connection)) { .declared($0) }
    }
  }

  /// Whether users have data in a collection.
  package func hasData(_ declaration: DeclaredCollection) throws -> Bool {
    try store.read {
      try !DeclaredCollectionsTable().users(with: declaration.name, of: declaration.kind, after: nil, limit: 1, in: $0)
        .isEmpty
    }
  }
}
