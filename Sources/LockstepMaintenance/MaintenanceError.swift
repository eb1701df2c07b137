import Glibc

/// Why something that an operator asked for wasn't done, each with a sentence that says what to do. What was there is as it
/// was.
public enum MaintenanceError: Error, Sendable, Equatable {
  /// There is a file already where one was to be made.
  case exists(path: String)
  /// There is no file.
  case missing(path: String)
  /// A file can't be made; the reason is an `errno`.
  case cannotMake(path: String, reason: Int32)
  /// What has the name is a device, a folder, a link or the like.
  case notAFile(path: String)
  /// Somebody else is making the same file.
  case beingMade(path: String)
  /// A file is damaged: what SQLite says of it first.
  case damaged(path: String, what: String)
  /// The file is to be restored of itself.
  case sameFile(path: String)
  /// There is no such user in the store.
  case noSuchUser(String)
  /// The address is somebody's already.
  case addressTaken(String)
  /// A server uses the store, and hasn't taken the order in time. It's withdrawn.
  case notTaken(path: String)
  /// A server uses the store, and its schema isn't the one that this program knows.
  case olderSchema(path: String, found: Int, known: Int)
  /// A cursor isn't of the user's history in this store.
  case unknownCursor(String)
  /// The file was replaced while it was followed.
  case replaced(path: String)
  /// The user was erased while they were followed.
  case erased
}

extension MaintenanceError: CustomStringConvertible {
  /// What happened, and what to do.
  public var description: String {
    switch self {
    case .exists(let path):
      "\(path) is there already. Name another file, or say --force to have it replaced."
    case .missing(let path):
      "There is no file \(path). Name the one that is there: --data, or the variable LOCKSTEP_DATA, says which."
    case .cannotMake(let path, let reason):
      "\(path) can't be written: \(String(cString: strerror(reason))). Check that the folder exists, that this process may "
        + "write it, and that there is room."
    case .notAFile(let path):
      "\(path) is no regular file, and isn't replaced. Name another, or the place of one that is to be made."
    case .beingMade(let path):
      "Somebody else is writing \(path) at this moment. Wait until that is done, or name another file."
    case .damaged(let path, let what):
      "\(path) is damaged: \(what). `lockstep check` tells more; use a backup that is whole."
    case .sameFile(let path):
      "\(path) can't be restored from itself. Name the backup with --from, and the store with --data."
    case .noSuchUser(let name):
      "There is no user \(name) in the store. `lockstep user list` shows who there is."
    case .addressTaken(let address):
      "There is a user with the address \(address) already."
    case .notTaken(let path):
      "A server uses the store \(path), and hasn't done it in time: it's too busy, stops, or hangs. The order was withdrawn, "
        + "and nothing was changed. Try again; or stop the server, and try again then."
    case .olderSchema(let path, let found, let known):
      "The store \(path) has schema \(found), and this lockstep works with \(known): an older lockstep serves it. Use that "
        + "one's own command, or restart the server with this one."
    case .unknownCursor(let text):
      "The cursor \(text) isn't of this user's history in this store, or of what is no longer kept. Begin with a time instead."
    case .replaced(let path):
      "The file \(path) was replaced by another one. Begin anew to follow that."
    case .erased:
      "The user has been erased."
    }
  }
}
