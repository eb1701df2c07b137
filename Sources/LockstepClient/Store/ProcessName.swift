import LockstepJSON
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
  /// How many clients of this process have each name. Clients of tests with the same seed have the same one.
  private static let present = Mutex<[ExactText: Int]>([:])

  let text: String

  /// The name of a client in this process. `key` distinguishes it from all others.
  init(key: String) {
    let text = "\(getpid())-\(key)"
    self.text = text
    Self.present.withLock { $0[text.exact, default: 0] += 1 }
  }

  deinit {
    Self.present.withLock { present in
      let others = present[text.exact, default: 1] - 1
      present[text.exact] = others > 0 ? others : nil
    }
  }

  /// Whether the client with a name may still be there. False only if it certainly is not.
  static func mayRun(_ text: String) -> Bool {
    guard let id = text.split(separator: "-").first.flatMap({ pid_t($0) }), id > 0 else { return true }
    // In a container, the next run of a program often gets the same id.
    if id == getpid() { return present.withLock { $0[text.exact] != nil } }
    return kill(id, 0) == 0 || errno != ESRCH
  }
}
