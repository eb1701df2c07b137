import Glibc

/// A new folder that a command fills. It replaces no file. If it cannot write all files, it removes those that it
/// has written.
struct ProjectFolder {
  private let root: String
  private let isNew: Bool
  private var created: [String] = []

  /// Creates the folder, or takes an empty one that exists.
  init(_ path: String) throws(CommandError) {
    root = path
    isNew = mkdir(path, 0o777) == 0
    if isNew { return }
    let reason = errno
    guard reason == EEXIST else { throw Self.error(path, reason) }
    var information = stat()
    guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFDIR else {
      throw CommandError(.cannotCreate, "\(path) exists already and is not a folder.")
    }
    guard Self.isEmpty(path) else {
      throw CommandError(.cannotCreate, "\(path) exists already and is not empty. Choose another name.")
    }
  }

  private static func isEmpty(_ path: String) -> Bool {
    guard let folder = opendir(path) else { return false }
    defer { closedir(folder) }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { return false }
    }
    return true
  }

  /// Writes the files, and the folders that they need.
  consuming func write(_ files: [(path: String, text: String)]) throws(CommandError) {
    do throws(CommandError) {
      for (path, text) in files { try write(path, text) }
    } catch {
      for path in created.reversed() { remove(path) }
      if isNew { rmdir(root) }
      throw error
    }
  }

  private mutating func write(_ path: String, _ text: String) throws(CommandError) {
    var folder = root
    for part in path.split(separator: "/").dropLast() {
      folder += "/\(part)"
      if mkdir(folder, 0o777) == 0 {
        created.append(folder)
      } else if errno != EEXIST {
        throw Self.error(folder, errno)
      }
    }
    let place = "\(root)/\(path)"
    let descriptor = open(place, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw Self.error(place, errno) }
    created.append(place)
    defer { close(descriptor) }
    guard Terminal.write(Array(text.utf8), to: descriptor) else {
      throw CommandError(.store, "\(place) cannot be written: \(String(cString: strerror(errno))).")
    }
  }

  private static func error(_ path: String, _ reason: Int32) -> CommandError {
    CommandError(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(reason))).")
  }
}
