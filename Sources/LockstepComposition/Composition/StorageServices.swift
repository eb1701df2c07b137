import LockstepAccounts
import LockstepCollections
import LockstepMaintenance
import LockstepStore
import LockstepSync

/// The store of a server, and the parts that read and write it.
struct StorageServices: Sendable {
  let store: DurableStore
  /// The first digits of the store's id, which cursors contain.
  let id: String
  /// The file of a store in SQLite.
  private let path: String?
  let readers: UserReaders
  let tokenKey: TokenKey
  /// With this secret, the nodes of a fleet recognise each other; nil in SQLite.
  let nodeSecret: String?

  init(_ configuration: Configuration, _ store: DurableStore, _ sodium: Sodium) throws {
    self.store = store
    id = String(store.id.prefix(Cursor.storeDigits))
    path = configuration.store == nil ? configuration.data : nil
    readers = UserReaders(store.readers, threads: store.readingThreads)
    tokenKey = try store.write { try TokenKey.findOrMake(in: $0, random: sodium.randomWord) }
    nodeSecret = store.feed == nil ? nil : tokenKey.secret(for: "node")
  }

  var writer: StoreWriter { store.writer }

  /// Connects this server with the others of a fleet; nil in SQLite.
  var feed: CommitFeed? { store.feed }

  /// Identifies this run of the server.
  var nodeID: String { store.nodeID }

  /// The path of the socket for the operator's commands; nil in PostgreSQL.
  var operatorSocket: String? { path.flatMap { StorePath.socket(of: $0) } }

  /// Reads the servers of the store; nil if this one is alone.
  var nodes: (@Sendable () async throws -> [NodeRecord])? {
    guard feed != nil else { return nil }
    return { [readers = store.readers] in try await readers.read { try NodeRecords.live(in: $0) } }
  }

  /// The size of the store. For PostgreSQL, that of the database, read every 30 seconds.
  var size: StoreSize? {
    path.map { StoreSize(ofStoreAt: $0) } ?? feed.map { StoreSize(bytes: $0.statistics.databaseBytes) }
  }
}
