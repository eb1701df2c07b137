import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepModules
import LockstepSQLiteStore
import LockstepStore
import LockstepSync
import LockstepTime

/// Writes everything that a store holds about a user, for an operator's command.
package struct StoreExport: Sendable {
  private let store: StoreLocation
  private let time: TimeSource
  private let modules: [UserModule]

  package init(of store: StoreLocation, time: TimeSource = .system, modules: [UserModule] = []) {
    self.store = store
    self.time = time
    self.modules = modules
  }

  /// Passes the document of `GET /v1/me/export` to `write` in pieces. If this throws, the document
  /// is incomplete.
  package func write(_ user: UserID, to write: @escaping @Sendable ([UInt8]) throws -> Void) async throws {
    let readers =
      switch store {
      case .file(let path): StoreReaders(try ReaderPool(path: path, threads: 1))
      case .database(let string): try StoreDatabase(withCurrentSchema: string).readers(threads: 1)
      }
    defer { readers.shutDown() }
    let (identity, registered) = try await readers.read { connection in
      let id = try connection.storeID() ?? ""
      return (String(id.prefix(Cursor.storeDigits)), try RegisteredDefaultsTable().load(from: connection).revision)
    }
    let (states, time) = (ModuleTables(ofStoreWith: modules), time)
    try await readers.read { try states.readDeclared(from: $0) }
    let export = UserExport(
      store: identity,
      account: { try AccountsExport.json(of: $0, at: time.now(), in: $1) },
      states: states,
      present: { _ in nil },
      registered: { registered },
      readers: UserReaders(readers, threads: 2),
      own: modules
    )
    guard let contents = try await export.contents(of: user, from: nil) else {
      throw MaintenanceError.noSuchUser("\(user)")
    }
    try await export.write(contents, of: user, from: nil, to: CallingWriter(write: write))
  }

  private struct CallingWriter: BodyWriter {
    let write: @Sendable ([UInt8]) throws -> Void

    func write(_ bytes: [UInt8]) async throws { try write(bytes) }
  }
}

extension ModuleTables {
  /// The tables of a server with these modules, for commands that only read.
  init(
    ofStoreWith own: [UserModule],
    favorites: CollectionQuota = CollectionQuota(),
    defaults: DefaultsQuota = DefaultsQuota()
  ) {
    self.init([.favorites(quota: favorites), DefaultsModule(quota: defaults).userModule, .profile] + own)
  }
}
