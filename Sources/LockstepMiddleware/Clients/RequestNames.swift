import LockstepHTTP
import Synchronization

/// The ids of requests, by which a line of the log is found again: the client's own (`X-Request-Id`), or one that is made where
/// somebody needs it.
///
/// Each loop has its own. One that is made is `<start>-<loop>-<number>`: unlike those of other starts and other loops, and cheap.
package final class RequestNames: Sendable {
  /// The longest that a client may give.
  package static let longest = 128

  private let prefix: String
  private let made = Atomic(0)

  /// - Parameters:
  ///   - start: When the server started, in milliseconds since 1970.
  ///   - loop: Which loop's they are.
  package init(start: Int64, loop: Int) {
    prefix = "\(String(start, radix: 36))-\(loop)-"
  }

  /// One that nobody has.
  func next() -> String { prefix + String(made.add(1, ordering: .relaxed).newValue, radix: 36) }

  /// The client's own: 1 to 128 characters of ASCII that can be seen, without spaces. Nil where it has given none, or one that is
  /// something else: that isn't worth an error.
  static func given(by head: RequestHead) -> String? {
    let text = head.withBytes(of: .xRequestID) { value -> String? in
      guard (1...longest).contains(value.count), value.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
      return String(decoding: value, as: UTF8.self)
    }
    return text ?? nil
  }
}
