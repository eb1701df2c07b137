import LockstepHTTP
import LockstepJSON
import LockstepLogging
import Synchronization

/// Refuses writes from pages of other origins, because browsers send forms without a preflight.
package final class OriginCheck: Sendable {
  /// The shortest time between two log lines about the same origin: an hour.
  private static let pause: Int64 = 3_600_000_000_000
  private static let mostOrigins = 256
  private static let longestOrigin = 256

  private let cors: CORSPolicy
  /// The origin of the server's own pages. Nil: it is unknown, and `isOwn` compares with `Host`.
  private let own: String?
  private let logger: Logger
  private let monotonic: @Sendable () -> Int64
  private let logged = Mutex<[ExactText: Int64]>([:])

  package init(_ cors: CORSPolicy, own: String?, logger: Logger, monotonic: @escaping @Sendable () -> Int64) {
    self.cors = cors
    self.own = own
    self.logger = logger
    self.monotonic = monotonic
  }

  /// Throws `forbidden` for a write whose `Origin` is neither the server's own nor an allowed one. If a
  /// browser reports a page of another site without its origin, the write is refused too.
  func check(_ head: RequestHead) throws(Problem) {
    switch head.method {
    case .get, .head, .options: return
    default: break
    }
    guard let origin = head[.origin] else {
      guard head[.secFetchSite]?.lowercased() == "cross-site", !cors.allows("null") else { return }
      throw Problem(.forbidden, detail: "Pages of other sites must not write without the field Origin.")
    }
    guard !cors.allows(origin), !isOwn(origin, of: head) else { return }
    note(String(origin.prefix(Self.longestOrigin)))
    throw Problem(
      .forbidden,
      detail: "Pages of this origin must not write to the server. The operator can allow the origin with --cors-origin."
    )
  }

  /// Whether an origin is the server's own. If the server knows its public name, a name in `Host` does
  /// not count, because a page can choose it: it makes its own name resolve to the server's address (DNS
  /// rebinding). No page can do this with an address or with `localhost`.
  private func isOwn(_ origin: String, of head: RequestHead) -> Bool {
    if let own, origin.lowercased() == own { return true }
    let host = head[.host] ?? ""
    return (own == nil || Self.isFixed(host)) && Self.isOwn(origin, host: host)
  }

  /// Whether a browser finds the host without asking a name server.
  private static func isFixed(_ host: String) -> Bool {
    if host.hasPrefix("[") { return IPAddress(host.dropFirst().prefix { $0 != "]" }) != nil }
    let name = host.prefix { $0 != ":" }
    return IPAddress(name) != nil || name.lowercased() == "localhost"
  }

  /// Whether an origin is that of `Host`. Schemes are not compared, because TLS often ends at a
  /// proxy. If `Host` has no port, ports are not compared either, because some proxies leave the
  /// port out.
  private static func isOwn(_ origin: String, host: String) -> Bool {
    let schemes = [("http://", ":80"), ("https://", ":443")]
    guard let (scheme, defaultPort) = schemes.first(where: { origin.hasPrefix($0.0) }) else { return false }
    let (authority, host) = (origin.dropFirst(scheme.count).lowercased(), host.lowercased())
    // The lower case of the Kelvin sign is a k. But an origin is ASCII.
    guard !host.isEmpty, origin.utf8.allSatisfy({ $0 < 0x80 }) else { return false }
    if authority == host || authority + defaultPort == host { return true }
    return authority.hasPrefix(host + ":")
      && authority.dropFirst(host.count + 1).allSatisfy { ("0"..."9").contains($0) }
  }

  private func note(_ origin: String) {
    let now = monotonic()
    let count: Int? = logged.withLock { logged in
      if let last = logged[origin.exact], now - last < Self.pause { return nil }
      if logged.count >= Self.mostOrigins { logged = logged.filter { now - $0.value < Self.pause } }
      guard logged.count < Self.mostOrigins else { return nil }
      logged[origin.exact] = now
      return logged.count
    }
    guard let count else { return }
    logger.log(.info, "refused writes from an origin", ["origin": .string(origin)])
    if count == Self.mostOrigins {
      logger.log(.info, "refused writes from so many origins that no more are logged for now")
    }
  }
}
