import Glibc

/// Why an operator's command failed.
package enum MaintenanceError: Error, Sendable, Equatable, CustomStringConvertible {
  case exists(path: String)
  case missing(path: String)
  /// The PostgreSQL database has no tables.
  case emptyDatabase(name: String)
  /// The source of a copy, or the backup, is missing.
  case missingSource(path: String)
  /// The source of a copy is a database without tables.
  case emptySource(name: String)
  /// The reason is an `errno`.
  case cannotMake(path: String, reason: Int32)
  /// The path names a device, a folder, a link or another special file.
  case notAFile(path: String)
  /// Another process is writing the same file.
  case beingMade(path: String)
  case damaged(path: String, what: String)
  case sameFile(path: String)
  case noSuchUser(String)
  case addressTaken(String)
  /// The server did not take the admin command in time. The command was withdrawn.
  case notTaken(path: String)
  /// The server has ended after it got the admin command, and did not respond.
  case notAnswered(path: String)
  case olderSchema(path: String, found: Int, known: Int)
  /// The target of a copy has contents of its own.
  case notEmpty(name: String)
  /// The target of a copy has a part of another store.
  case otherCopy(name: String)
  /// A store cannot be copied onto itself.
  case ownCopy(name: String)
  /// A copy differs from its source.
  case incompleteCopy(name: String, what: String)
  case unknownCursor(String)
  case replaced(path: String)
  case erased

  package var description: String {
    switch self {
    case .exists(let path):
      "\(path) exists already. Name another file, or add --force to replace it."
    case .missing(let path):
      "There is no file \(path). Set --data or the variable LOCKSTEP_DATA to an existing store."
    case .emptyDatabase(let name):
      "The database \(name) is empty. Set --store or the variable LOCKSTEP_STORE to the database of a store."
    case .missingSource(let path):
      "There is no file \(path). Name an existing store with --from."
    case .emptySource(let name):
      "The database \(name) is empty. Name the database of a store with --from."
    case .cannotMake(let path, let reason):
      "\(path) cannot be written: \(String(cString: strerror(reason))). Check that its folder exists, that this process may "
        + "write to it, and that the disk has free space."
    case .notAFile(let path):
      "\(path) is not a regular file, so it was not replaced. Name another file."
    case .beingMade(let path):
      "Another process is writing \(path) now. Wait until it has finished, or name another file."
    case .damaged(let path, let what):
      "\(path) is damaged: \(what). `lockstep check` lists all damage; use an intact backup."
    case .sameFile(let path):
      "\(path) is both the backup and the store. Name the backup with --from, and the store with --data."
    case .noSuchUser(let name):
      "There is no user \(name) in the store. `lockstep user list` lists all users."
    case .addressTaken(let address):
      "A user with the address \(address) exists already."
    case .notTaken(let path):
      "The server that uses the store \(path) did not take the admin command in time: it is busy, shutting down or hanging, "
        + "or could not make its socket \(path)-socket, as its log says. The command was withdrawn, and nothing was "
        + "changed. Try again, or stop the server first."
    case .notAnswered(let path):
      "The server that uses the store \(path) ended before it responded, so the change may have been made. Run the "
        + "command again when a server runs, or when none does."
    case .olderSchema(let path, let found, let known):
      "The store \(path) has schema \(found), and this lockstep needs schema \(known): an older "
        + "version has created or last migrated it. Use the command of that version, or run `lockstep migrate` or a server of this version."
    case .notEmpty(let name):
      "The store \(name) is not empty. Nothing was changed. Copy into a new file or into an empty database."
    case .otherCopy(let name):
      "\(name) contains an unfinished copy of another store. Nothing was changed. Finish that copy, or delete it and begin "
        + "again."
    case .ownCopy(let name):
      "\(name) is both the source and the target. Name another store with --to."
    case .incompleteCopy(let name, let what):
      "The copy \(name) is not complete: \(what). No server can use it yet. Check the source with `lockstep check`, and run "
        + "the copy again."
    case .unknownCursor(let text):
      "The cursor \(text) is not in this user's history in this store, or that history was pruned. Begin with a time instead."
    case .replaced(let path):
      "The file \(path) was replaced. Run the command again to follow the new file."
    case .erased:
      "The user was erased."
    }
  }
}
