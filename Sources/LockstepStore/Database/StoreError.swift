import Glibc
import LockstepPostgreSQL
import LockstepSQLite
import LockstepThreading

/// Why a store cannot be opened or written. Each description says what to do.
public enum StoreError: Error, Sendable, Equatable {
  /// The path leads to a device or a folder.
  case notAFile(path: String)
  /// The file is missing or empty, but its WAL is not. Opening it would delete the WAL.
  case onlyWAL(path: String)
  /// The file is the SQLite database of another program.
  case notAStore(path: String)
  /// The file is empty, or an SQLite database without tables.
  case emptyFile(path: String)
  /// The schema of the store is from a newer version.
  case newerSchema(path: String, found: Int, known: Int)
  /// An applied migration has another name than this program's migration of the same number.
  case unknownMigration(path: String, number: Int, name: String)
  /// An applied migration has another text than in this program.
  case changedMigration(path: String, number: Int, name: String)
  /// The store was served with a module that this program does not have.
  case missingModule(path: String, module: String)
  /// A module is a list in this program and a map in the store, or a map here and a list there.
  case otherKindOfModule(path: String, module: String, kind: String)
  /// A module has tables of its own, which earlier versions supported.
  case ownTables(path: String, module: String)
  /// The store's records contradict each other.
  case inconsistent(path: String, what: String)
  case database(SQLiteError)
  case postgreSQL(PostgreSQLError)
  /// The PostgreSQL database cannot hold a store.
  case unusableDatabase(name: String, what: String, advice: String)
  /// PostgreSQL does not permit all connections that a node needs.
  case tooFewConnections(open: Int, needed: Int, PostgreSQLError)
  /// The role may not read or write a table in PostgreSQL.
  case missingRight(name: String, role: String, table: String)
  /// The role may not create tables in PostgreSQL.
  case cannotCreateTables(name: String, role: String, schema: String)
  /// Another server or command has the store open.
  case inUse(path: String)
  /// The lock file cannot be created or locked; the reason is an `errno`.
  case cannotLock(path: String, reason: Int32)
  /// The path now leads to another file, or to none.
  case replaced(path: String)
  /// A new connection has led to another store than the first one.
  case otherStore(name: String)
  /// The system has no more threads.
  case noThread(NamedThread.NotStarted)
  /// Too much work waits for the store.
  case overloaded
  /// The node could not read the commits of other nodes for two seconds.
  case leaseIsOver(cause: String?)
  /// The process got no processor time for so long, so its lease is over.
  case stoodStill(Duration)
  /// Commits wait for a synchronous standby that does not confirm them.
  case standbySilent
  case closed

  /// Converts an error that the store's own parts have thrown.
  package init(thrown error: any Error) {
    self =
      switch error {
      case let error as StoreError: error
      case let error as SQLiteError: .database(error)
      case let error as PostgreSQLError: .postgreSQL(error)
      case let error as NamedThread.NotStarted: .noThread(error)
      case is PoolOverloadedError: .overloaded
      case is PoolShutDownError: .closed
      // The store's parts throw no other errors.
      default: .database(SQLiteError(extendedCode: 1, message: "\(error)", path: ""))
      }
  }
}

extension StoreError: CustomStringConvertible {
  /// The error with advice.
  public var description: String {
    switch self {
    case .notAFile(let path):
      "\(path) is not a regular file. Name a file, or a path where a new store can be created."
    case .onlyWAL(let path):
      "The store \(path) is missing or empty, but its write-ahead log \(path)-wal contains recent writes. Nothing was "
        + "changed. Put the store back, or restore a backup. To start with a new store, move the write-ahead log away."
    case .notAStore(let path):
      "\(path) is a SQLite database, but not a Lockstep store. Nothing was changed. Name another file, or move "
        + "this one away."
    case .emptyFile(let path):
      "The file \(path) is empty, so it contains no store yet. Start a server on it once, or name another file."
    case .newerSchema(let path, let found, let known):
      "The store \(path) has schema \(found), and this lockstep knows schemas up to \(known). A newer lockstep has used "
        + "the store. Run that version, or restore a backup from before the upgrade."
    case .unknownMigration(let path, let number, let name):
      "This lockstep does not know the migration \(number) (\(name)), which was applied to the store \(path). Run the "
        + "lockstep that applied it."
    case .changedMigration(let path, let number, let name):
      "The migration \(number) (\(name)) of this lockstep has another text than the one that was applied to the store "
        + "\(path). Run the lockstep that applied it. Or restore the migration's text, and make the change in a "
        + "new migration."
    case .missingModule(let path, let module):
      "The store \(path) was served with the module \(module), which this server does not have. Responses would not "
        + "contain the module's state, and its history would be lost. Run a server that has the module."
    case .otherKindOfModule(let path, let module, let kind):
      "The module \(module) is a \(kind) in the store \(path), but not in this server. Run the server that created the "
        + "store, or give the module another name."
    case .ownTables(let path, let module):
      "The module \(module) has tables of its own in the store \(path), which this lockstep does not support. Nothing was "
        + "changed. Move their rows into the table list_elements or map_values with the sqlite3 shell: docs/upgrading.md "
        + "has the statements. Or run the lockstep before this one, and save the users' elements with lockstep user export."
    case .inconsistent(let path, let what):
      "The store \(path) contradicts itself: \(what). It is damaged or was changed by hand. Restore a backup."
    case .database(let error):
      error.description
    case .postgreSQL(let error):
      error.description
    case .unusableDatabase(let name, let what, let advice):
      "Lockstep cannot use the database \(name): \(what). \(advice)"
    case .tooFewConnections(let open, let needed, let error):
      "A node needs \(needed) connections to PostgreSQL, and got \(open): \(error)"
    case .missingRight(let name, let role, let table):
      "The role \(role) may not read and change the table \(table) of the database \(name). Nothing was changed. As the "
        + "owner of the table: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA … TO \(role)."
    case .cannotCreateTables(let name, let role, let schema):
      "The role \(role) may not create tables in the schema \(schema) of the database \(name). Nothing was changed. Run "
        + "`lockstep migrate` as the role that owns the schema or the database."
    case .inUse(let path):
      "Another lockstep is using the store \(path). Stop it first, or name another file."
    case .cannotLock(let path, let reason):
      "The file \(path), which keeps a second server from using the store, cannot be locked: "
        + "\(String(cString: strerror(reason))). Check that this process may write the file and its folder, and that they "
        + "are on a local disk."
    case .replaced(let path):
      "The file \(path) was deleted, moved or replaced after this server had opened it. Writes still go to the old file. "
        + "Stop the server, put the right file at the path, and start the server again."
    case .otherStore(let name):
      "The database \(name) has another store now. Nothing was written to it. If that is right, stop the server and start "
        + "it again. Otherwise correct the host and the database in the connection string."
    case .noThread(let error):
      "The store cannot start a thread: \(error). Raise the limits on threads and memory."
    case .overloaded:
      "Too much work waits for the store. Try again later."
    case .leaseIsOver(let cause):
      "For two seconds, this node could not read the commits of other nodes"
        + (cause.map { ": \($0)" } ?? ". Check the connection to the database.")
    case .stoodStill(let length):
      "This node stood still for \(length.wholeMilliseconds / 1_000) seconds, so its lease is over until it has read the "
        + "commits of other nodes. The process was stopped, its machine was paused, or the machine is too busy."
    case .standbySilent:
      "The synchronous standby of the database does not confirm commits. Start the standby, or change "
        + "synchronous_standby_names."
    case .closed:
      "The store has been closed: the server is shutting down."
    }
  }
}
