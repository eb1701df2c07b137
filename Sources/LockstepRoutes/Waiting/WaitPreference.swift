import LockstepHTTP
import LockstepMiddleware

/// How long a client wants to be held until there is something new (RFC 7240, 4.3).
struct WaitPreference: Sendable {
  /// Whole seconds, no more than the server holds anybody.
  let seconds: Int

  /// The preference of a request: `?wait=`, or else `Prefer: wait=`; nil where it has none. A query that can't be is an
  /// error; a preference that can't be is passed over, as RFC 7240 says.
  init?(of request: Request, _ query: QueryParameters, upTo longest: Int) throws(Problem) {
    if let text = try query.text("wait") {
      guard let asked = Self.seconds(text) else {
        throw Problem(.invalidParameter, detail: "The parameter wait must be a whole number of seconds from 0 on.")
      }
      seconds = min(asked, longest)
    } else if let asked = Self.preferred(by: request.head) {
      seconds = min(asked, longest)
    } else {
      return nil
    }
  }

  /// When it's over, for a request that came just now.
  func deadline(for request: Request) -> Int64 { request.arrival + Int64(seconds) * 1_000_000_000 }

  /// What the answer says about it.
  var appliedField: String { "wait=\(seconds)" }

  /// A number of seconds, however large: more than there is room for is lowered too.
  private static func seconds(_ text: String) -> Int? {
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isNumber ? Int(text) ?? .max : nil
  }

  private static func preferred(by head: RequestHead) -> Int? {
    guard head.has(.prefer) else { return nil }
    for element in head.list(.prefer) {
      // What is before the parameters; nothing at all, where an element is nothing but them.
      let parts = element.prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].filter({ !$0.isWhitespace }).lowercased() == "wait" else { continue }
      let value = parts[1].filter { !$0.isWhitespace && $0 != "\"" }
      if let seconds = seconds(value) { return seconds }
    }
    return nil
  }
}
