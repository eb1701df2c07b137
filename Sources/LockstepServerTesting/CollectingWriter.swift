import LockstepHTTP
import Synchronization

/// Collects a streamed body.
final class CollectingWriter: BodyWriter {
  private let collected = Mutex<[UInt8]>([])
  var bytes: [UInt8] { collected.withLock { $0 } }

  func write(_ bytes: consuming [UInt8]) async throws {
    let bytes = bytes
    collected.withLock { $0 += bytes }
  }
}
