import Glibc
import LockstepSQLite
import LockstepSQLiteStore
import LockstepStore

package enum StorePath {
  static func expectFile(_ path: String) throws(MaintenanceError) {
    if !isFile(path) { throw .missing(path: path) }
  }

  /// Opens an existing store or backup for reading, even while a server uses it. Throws
  /// `MaintenanceError.damaged` if its schema cannot be read.
  static func openForReading(_ path: String) throws -> SQLiteConnection {
    try expectFile(path)
    do throws(SQLiteError) {
      return try SQLiteConnection(storeAt: path, access: .readOnly, journal: .asFound)
    } catch  where error.kind == .corrupt {
      throw MaintenanceError.damaged(path: path, what: error.message)
    }
  }

  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The absolute path without links, as SQLite reports it. Nil if its folder does not exist.
  static func resolved(_ path: String) -> String? {
    if let whole = realPath(path) { return whole }
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard !name.isEmpty, let folder = realPath(folder(of: path)) else { return nil }
    return folder == "/" ? "/\(name)" : "\(folder)/\(name)"
  }

  /// The Unix socket of the server that uses the store. Nil if the store's folder does not exist.
  package static func socket(of path: String) -> String? { resolved(path).map { "\($0)-socket" } }

  static func isFile(_ path: String) -> Bool { mode(of: path) & S_IFMT == S_IFREG }

  /// Whether the path itself is a regular file, not a link to one.
  static func isFileItself(_ path: String) -> Bool { mode(ofLink: path) & S_IFMT == S_IFREG }

  /// Whether users other than the owner may read or write the file.
  package static func isOpenToOthers(_ path: String) -> Bool { mode(of: path) & 0o077 != 0 }

  /// Whether anything has this name, including a broken link.
  static func isTaken(_ path: String) -> Bool { mode(ofLink: path) != 0 }

  /// The type and the permissions; 0 if there is no such file.
  private static func mode(of path: String) -> mode_t {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode : 0
  }

  private static func mode(ofLink path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode : 0
  }
}

extension Migrator {
  /// Throws if the store's schema is not the one that this program writes.
  func expectCurrentSchema(of connection: SQLiteConnection, path: String) throws {
    let schema = try examine(connection)
    guard schema == last else { throw MaintenanceError.olderSchema(path: path, found: schema, known: last) }
  }
}
