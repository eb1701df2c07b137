import LockstepCollections
import LockstepHTTP
import LockstepMiddleware

/// Where the feed and the journal begin: the parameter `since`.
enum FeedPosition: Sendable {
  /// The longest text that is taken for a cursor.
  private static let maximumBytes = 256

  /// Without `since`: from the beginning.
  case beginning
  /// `now`: the present cursor and nothing else.
  case now
  /// After a cursor; nil for a text that looks like a cursor and is none, which resets the client.
  case cursor(Cursor?, text: String)

  /// Reads `since`. Throws `invalid-parameter` for a text that no cursor looks like.
  init(_ since: String?) throws(Problem) {
    guard let since else {
      self = .beginning
      return
    }
    if since == "now" {
      self = .now
      return
    }
    guard (1...Self.maximumBytes).contains(since.utf8.count), since.utf8.allSatisfy(Self.isCursorByte) else {
      throw Problem(.invalidParameter, detail: "The parameter since must be a cursor from a response, or now.")
    }
    self = .cursor(Cursor(since), text: since)
  }

  private static func isCursorByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }
  }
}
