import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The name under which a client uses its file. It begins with the id of its process, so that another process can
/// find out that this one was killed.
final class ProcessName: Sendable {
  private static let present = Mutex<Set<String>>([])

  let text: String

  /// The name of a client in this process. `key` distinguishes it from all others.
  init(key: String) {
    let text = "\(getpid())-\(key)"
    self.text = text
    _ = Self.present.withLock { $0.insert(text) }
  }

  deinit { _ = Self.present.withLock { $0.remove(text) } }

  /// Whether the client with a name may still be there. False only if it certainly is not.
  static func mayRun(_ text: String) -> Bool {
    guard let id = text.split(separator: "-").first.flatMap({ pid_t($0) }), id > 0 else { return true }
    // In a container, the next run of a program often gets the same id.
    if id == getpid() { return present.withLock { $0.contains(text) } }
    return kill(id, 0) == 0 || errno != ESRCH
  }
}
