import Glibc

/// The path of a Unix socket.
struct UnixSocketPath {
  /// The most bytes that the kernel takes. A longer path leads through its opened folder.
  private static let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  let text: String

  init(_ text: String) { self.text = text }

  func withAddress<Result>(
    purpose: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    guard text.utf8.count > Self.longest else { return try Self.withAddress(of: text, body) }
    let slash = text.lastIndex(of: "/")
    let folder = slash.map { $0 == text.startIndex ? "/" : String(text[..<$0]) } ?? "."
    let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SystemError("open", purpose: purpose) }
    defer { close(descriptor) }
    let short = "/proc/self/fd/\(descriptor)/\(slash.map { text[text.index(after: $0)...] } ?? text[...])"
    guard short.utf8.count <= Self.longest else { throw SystemError("open", purpose: purpose, code: ENAMETOOLONG) }
    return try Self.withAddress(of: short, body)
  }

  private static func withAddress<Result>(
    of path: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws(SystemError) -> Result
  ) throws(SystemError) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    // The path is not longer than `longest`, so a zero follows.
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let outcome = withUnsafePointer(to: address) { address in
      // Every socket address begins like `sockaddr`.
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        Swift.Result { () throws(SystemError) in try body(address, socklen_t(MemoryLayout<sockaddr_un>.size)) }
      }
    }
    return try outcome.get()
  }
}

/// The file of a Unix socket, recognised even if another one has its path by now.
struct UnixSocketFile {
  private let path: String
  private let status: stat

  /// Nil if there is no such file, or it is no socket.
  init?(at path: UnixSocketPath) {
    self.path = path.text
    var status = stat()
    guard lstat(path.text, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return nil }
    self.status = status
  }

  /// Whether only the owner may connect.
  var isPrivate: Bool { status.st_mode & 0o077 == 0 }

  func remove() {
    // A new file may get the number of a removed one, but not its time.
    guard let present = UnixSocketFile(at: UnixSocketPath(path))?.status, present.st_dev == status.st_dev,
      present.st_ino == status.st_ino, present.st_ctim.tv_sec == status.st_ctim.tv_sec,
      present.st_ctim.tv_nsec == status.st_ctim.tv_nsec
    else { return }
    unlink(path)
  }
}
