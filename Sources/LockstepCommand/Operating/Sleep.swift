import Glibc

/// The one place where a command sleeps.
enum Sleep {
  /// Holds this thread for so long.
  static func thread(for duration: Duration) {
    guard duration > .zero else { return }
    let (seconds, attoseconds) = duration.components
    var rest = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    while true {
      let wanted = rest
      // What a signal leaves of it is slept too.
      guard withUnsafePointer(to: wanted, { nanosleep($0, &rest) }) != 0, errno == EINTR else { return }
    }
  }
}
