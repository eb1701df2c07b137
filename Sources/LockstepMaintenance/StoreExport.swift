import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepModules
import LockstepSQLite
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// All that a store holds about a user, as one document, written by an operator's command beside whoever uses the store.
public struct StoreExport: Sendable {
  private let store: String
  private let time: TimeSource
  private let modules: [UserModule]

  /// An export from the store in this file; `modules` is what its server keeps for users besides favorites, defaults and
  /// profiles.
  public init(of store: String, time: TimeSource = .system, modules: [UserModule] = []) {
    self.store = store
    self.time = time
    self.modules = modules
  }

  /// Writes what `GET /v1/me/export` gives the user.
  ///
  /// - Parameters:
  ///   - user: Whose it is.
  ///   - write: Takes the document's pieces, one behind the other.
  /// - Throws: `MaintenanceError.noSuchUser`, `StoreError`, `SQLiteError`, and what `write` throws. What was written by then is
  ///   no whole document.
  public func write(_ user: UserID, to write: @escaping @Sendable ([UInt8]) throws -> Void) async throws {
    let readers = try ReaderPool(path: store, threads: 1)
    defer { readers.shutDown() }
    let (identity, registered) = try await readers.read { connection in
      let id = try connection.first("SELECT id FROM store") { row in try row[0] as String } ?? ""
      return (String(id.prefix(Cursor.storeDigits)), try RegisteredDefaultsTable().load(from: connection).revision)
    }
    let (states, time) = (ExportedModules.states(with: modules), time)
    let export = UserExport(
      store: identity,
      account: { user, connection in
        guard let account = try UserRecords(connection: connection).account(user) else { return nil }
        let now = Timestamp(millisecondsSince1970: time.millisecondsSince1970())
        let sessions = try SessionRecords(connection: connection).sessions(of: user, at: now)
        return AccountsExport.json(account, sessions.map(\.session))
      },
      states: states,
      present: { user in try await readers.read { try states.load(user, from: $0) } },
      registered: { registered },
      readers: UserReaders(readers, threads: 2),
      own: modules
    )
    guard try await export.write(user, to: Pieces(write: write)) else {
      throw MaintenanceError.noSuchUser("\(user)")
    }
  }

  private struct Pieces: BodyWriter {
    let write: @Sendable ([UInt8]) throws -> Void

    func write(_ bytes: [UInt8]) async throws { try write(bytes) }
  }
}

/// The modules' tables, for who reads a store without a server's settings.
enum ExportedModules {
  static func states(with own: [UserModule]) -> ModuleTables {
    ModuleTables(
      [
        FavoritesModule(quota: FavoritesQuota()).userModule, DefaultsModule(quota: DefaultsQuota()).userModule,
        ProfileModule().userModule,
      ] + own
    )
  }
}
