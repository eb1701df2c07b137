import LockstepHTTP
import Synchronization

/// The ids of requests in the log: the client's own (`X-Request-Id`) or generated ones.
///
/// Each event loop generates its own ids, `<start>-<loop>-<number>`, so that loops do not contend.
package final class RequestIDs: Sendable {
  package static let longest = 128

  private let prefix: String
  private let made = Atomic(0)

  /// `start` is the time of the server's start, in milliseconds since 1970.
  package init(start: Int64, loop: Int) {
    prefix = "\(String(start, radix: 36))-\(loop)-"
  }

  func next() -> String { prefix + String(made.add(1, ordering: .relaxed).newValue, radix: 36) }

  /// The id that the client sent: 1 to 128 visible ASCII characters. Nil if there is no valid id.
  static func given(by head: RequestHead) -> String? {
    let text = head.withBytes(of: .xRequestID) { value -> String? in
      guard (1...longest).contains(value.count), value.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
      return String(decoding: value, as: UTF8.self)
    }
    return text ?? nil
  }
}
