import Glibc

/// Where a file is, whatever it's called.
package enum StorePath {
  /// The folder that a path's last name is in.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The absolute path without symbolic links, as SQLite tells it, of a file that may not be there yet; nil where its folder
  /// isn't.
  static func resolved(_ path: String) -> String? {
    if let whole = real(path) { return whole }
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    guard !name.isEmpty, let folder = real(folder(of: path)) else { return nil }
    return folder == "/" ? "/\(name)" : "\(folder)/\(name)"
  }

  /// Whether there is a regular file.
  static func isFile(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Whether a regular file has this name, and no link to one.
  static func isFileItself(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Whether others than its owner may read or write the file.
  package static func isOpenToOthers(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & 0o077 != 0
  }

  /// Whether anything has this name, a broken link too.
  static func isTaken(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  private static func real(_ path: String) -> String? {
    guard let text = realpath(path, nil) else { return nil }
    // The C library allocated it for this caller.
    defer { free(text) }
    return String(cString: text)
  }
}
