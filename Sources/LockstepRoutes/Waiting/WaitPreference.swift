import LockstepHTTP
import LockstepMiddleware

/// How long a client wants to wait for a change (RFC 7240, 4.3).
package struct WaitPreference: Sendable {
  /// Whole seconds, at most the server's limit.
  package let seconds: Int

  /// Reads `?wait=`, or else `Prefer: wait=`; `nil` if the request has neither. Throws if `?wait=`
  /// is malformed. Ignores a malformed preference, as RFC 7240 says.
  package init?(of request: Request, _ query: QueryParameters, upTo longest: Int) throws(Problem) {
    if let text = try query.text("wait") {
      guard let asked = Self.seconds(text) else {
        throw Problem(.invalidParameter, detail: "The parameter “wait” must be a whole number of seconds, 0 or more.")
      }
      seconds = min(asked, longest)
    } else if let asked = Self.preferred(by: request.head) {
      seconds = min(asked, longest)
    } else {
      return nil
    }
  }

  package func deadline(for request: Request) -> Int64 { request.arrival + Int64(seconds) * 1_000_000_000 }

  package var appliedField: String { "wait=\(seconds)" }

  /// Reads a whole number. A number too large for an `Int` becomes the largest `Int`.
  private static func seconds(_ text: String) -> Int? {
    let isNumber = !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return isNumber ? Int(text) ?? .max : nil
  }

  private static func preferred(by head: RequestHead) -> Int? {
    head.preferences.lazy.filter { $0.name == "wait" }.compactMap { seconds($0.value) }.first
  }
}
