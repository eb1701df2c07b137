import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepStore
import LockstepSync
import LockstepTime

/// Reads and changes the declared collections of a store for an operator's command.
///
/// If no server uses a store in SQLite, this process opens the store and does the work. Otherwise it lets
/// the server do it. With PostgreSQL, this process is a node of the fleet while it works.
package struct CollectionsAdministrator: Sendable {
  /// Opens the store in this process and does the work.
  package typealias Worker = @Sendable (CollectionsWork, IdempotencyKey?) throws -> CollectionsOutcome

  let store: ReadableStore
  let servers: CommandExchange
  let work: Worker

  /// `pause` sleeps on this thread. `interruption` can withdraw work that no server has begun.
  package init(
    of store: StoreLocation,
    time: TimeSource = .system,
    interruption: (any Interruption)? = nil,
    pause: @escaping @Sendable (Duration) -> Void,
    work: @escaping Worker
  ) throws {
    self.store = try ReadableStore(store)
    servers = CommandExchange(self.store, time, interruption, try Sodium().randomWord, pause: pause)
    self.work = work
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

  /// Does the work, and returns when the servers of the store know of it.
  package func run(_ work: CollectionsWork) throws -> CollectionsOutcome {
    // Refuses a store with another schema, which only a server or `lockstep migrate` changes.
    try store.read { _ in }
    switch store {
    case .file(let path, _):
      if let outcome = try runAlone(work) ?? runByServer(work) ?? runAlone(work) { return outcome }
      throw MaintenanceError.notTaken(path: path)
    case .database: return try self.work(work, nil)
    }
  }

  /// Nil if a server uses the store.
  private func runAlone(_ work: CollectionsWork, _ key: IdempotencyKey? = nil) throws -> CollectionsOutcome? {
    do { return try self.work(work, key) } catch StoreError.inUse { return nil }
  }

  private func runByServer(_ work: CollectionsWork) throws -> CollectionsOutcome? {
    let status = try servers.run { records, id, now in
      try records.insert(collectionsWork: work.json.description, id: id, at: now)
    } goOn: { (id: String) throws -> String? in
      try runAlone(work, .ofCommand(id))?.json.description
    }
    guard let reply = status?.reply else { return nil }
    return CollectionsOutcome(JSON(trusting: Array(reply.utf8)))
  }
}
