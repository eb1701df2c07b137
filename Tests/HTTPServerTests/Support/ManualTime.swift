import HTTPServer
import Synchronization

/// A clock that stands still until it's told to go on.
final class ManualTime: Sendable {
  private let nanoseconds = Atomic<Int64>(1_000_000_000)

  var serverTime: ServerTime {
    ServerTime(
      monotonic: { self.nanoseconds.load(ordering: .sequentiallyConsistent) },
      millisecondsSince1970: { 784_111_777_000 }
    )
  }

  func advance(by seconds: Double) {
    nanoseconds.add(Int64(seconds * 1_000_000_000), ordering: .sequentiallyConsistent)
  }
}
