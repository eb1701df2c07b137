import Glibc
import LockstepSQLite
import LockstepThreading

/// Why a store cannot be opened or written. Each description says what to do.
public enum StoreError: Error, Sendable, Equatable {
  /// The path is a device or a folder.
  case notAFile(path: String)
  /// The file is missing or empty, but its WAL is not. Opening it would delete the WAL.
  case onlyWAL(path: String)
  /// The file is the SQLite database of another program.
  case notAStore(path: String)
  /// The schema is from a newer version.
  case newerSchema(path: String, found: Int, known: Int)
  /// An applied migration has another name than the one with its number here.
  case unknownMigration(path: String, number: Int, name: String)
  /// An applied migration has another text than here.
  case changedMigration(path: String, number: Int, name: String)
  /// The store was served with a module that this program does not have.
  case missingModule(path: String, module: String)
  /// A module's state is a list here and a map in the store, or the other way round.
  case otherKindOfModule(path: String, module: String, kind: String)
  /// The tables of a module are from a newer version.
  case newerModule(path: String, module: String, found: Int, known: Int)
  /// A module's table would keep rows of erased users.
  case outlivesUsers(path: String, table: String)
  /// The store's records contradict each other.
  case inconsistent(path: String, what: String)
  /// SQLite failed.
  case database(SQLiteError)
  /// Another server has the store open.
  case inUse(path: String)
  /// The lock file cannot be created or locked; the reason is an `errno`.
  case cannotLock(path: String, reason: Int32)
  /// The path now leads to another file, or to none.
  case replaced(path: String)
  /// The system has no more threads.
  case noThread(NamedThread.NotStarted)
  /// Too much work waits for the store.
  case overloaded
  /// The store is closed.
  case closed
}

extension StoreError: CustomStringConvertible {
  /// The error with advice.
  public var description: String {
    switch self {
    case .notAFile(let path):
      "\(path) is no regular file, and a store is one. Name another, or the place of one that is to be made."
    case .onlyWAL(let path):
      "The store \(path) is gone or empty, but its log \(path)-wal isn't: what was written last is there. Nothing was "
        + "changed. Put the store back beside it, or restore a backup; to start with a new store, move the log out of the way."
    case .notAStore(let path):
      "\(path) is a SQLite database, but not a Lockstep store. Nothing in it was changed. Name another file, or move "
        + "this one out of the way."
    case .newerSchema(let path, let found, let known):
      "The store \(path) has schema \(found), and this lockstep knows those up to \(known): a newer lockstep has used "
        + "it. Run that one, or restore a backup from before the upgrade."
    case .unknownMigration(let path, let number, let name):
      "The store \(path) has been through a migration \(number) named \(name), which this lockstep doesn't know. Run "
        + "the lockstep that made it."
    case .changedMigration(let path, let number, let name):
      "The store \(path) has been through migration \(number) (\(name)) with another text than the one this lockstep "
        + "carries. Run the lockstep that made it, or restore the migration's text and make the change in a new one."
    case .missingModule(let path, let module):
      "The store \(path) was served with the module \(module), which this server doesn't have: what its users keep there "
        + "would be missing from its responses, and its history would be lost. Run a server that has it."
    case .otherKindOfModule(let path, let module, let kind):
      "The store \(path) has the module \(module) as a \(kind), and in this server it's none. Run the server that made "
        + "it, or give the module another name."
    case .newerModule(let path, let module, let found, let known):
      "The store \(path) has schema \(found) of the module \(module), and this server knows those up to \(known): a newer "
        + "one has used it. Run that one, or restore a backup from before the upgrade."
    case .outlivesUsers(let path, let table):
      "The table \(table) of the store \(path) would keep rows of users who are erased. Nothing was changed. Declare its "
        + "column: user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE."
    case .inconsistent(let path, let what):
      "The store \(path) doesn't fit together: \(what). It was changed by hand or is damaged: restore it from a backup."
    case .database(let error):
      error.description
    case .inUse(let path):
      "Another lockstep is using the store \(path), and one at a time may. Stop that one first, or name another file."
    case .cannotLock(let path, let reason):
      "The file \(path), which keeps a second lockstep away from the store, can't be locked: "
        + "\(String(cString: strerror(reason))). Check that this process may write the file and its folder, and that they "
        + "lie on a local disk."
    case .replaced(let path):
      "The file \(path) has been deleted, moved or replaced since this server opened it: what it writes goes to the old "
        + "one. Stop the server, put the right file in its place, and start it again."
    case .noThread(let error):
      "The store has no thread to work on: \(error). Raise the limits on threads and memory."
    case .overloaded:
      "Too much work waits for the store. Try again later."
    case .closed:
      "The store has been closed: the server is shutting down."
    }
  }
}
