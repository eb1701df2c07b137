import LockstepHTTP

/// Whom the server believes who asks: the proxies that were named, and nobody else.
///
/// They are asked for `X-Forwarded-For` alone, which nginx, HAProxy and Caddy all write. To read `Forwarded` (RFC 7239) too would be a
/// hole: a proxy that writes the one passes the other on as the client sent it.
package struct TrustedProxies: Sendable {
  private let networks: [IPNetwork]

  /// Of so many addresses from the right at most the client is looked for: more proxies in a row there aren't, and a client
  /// who writes thousands mustn't make them all be read.
  private static let longestWay = 32

  /// Nil where there are none: then nothing has to be looked at.
  package init?(_ networks: [IPNetwork]) {
    if networks.isEmpty { return nil }
    self.networks = networks
  }

  /// The request with who asks in place of the proxy that passes it on.
  func named(_ request: Request) -> Request {
    guard let client = client(of: request) else { return request }
    var request = request
    request.peer = PeerAddress(host: client.description, port: 0)
    return request
  }

  /// Who asks, where a trusted proxy passes it on: nil where it isn't one, or names nobody.
  ///
  /// Each proxy adds whom it has been asked by on the right. So from the right as long as the addresses are those of trusted
  /// proxies, whoever they name is right; what is further left anybody could have written. A word that is no address ends the way
  /// too: the client then is the last proxy before it.
  private func client(of request: Request) -> IPAddress? {
    guard let peer = IPAddress(request.peer.host), isTrusted(peer) else { return nil }
    var client: IPAddress?
    var steps = 0
    for value in request.head.values(.xForwardedFor).reversed() {
      var rest = value[...]
      while !rest.isEmpty {
        let comma = rest.lastIndex(of: UInt8(ascii: ","))
        let element = rest[(comma.map { $0 + 1 } ?? rest.startIndex)...]
        rest = rest[..<(comma ?? rest.startIndex)]
        guard element.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { continue }
        steps += 1
        guard steps <= Self.longestWay, let address = Self.address(element) else { return client }
        client = address
        if !isTrusted(address) { return client }
      }
    }
    return client
  }

  private func isTrusted(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

  /// The address of an element: `192.0.2.1`, `2001:db8::1`, and with a port `192.0.2.1:80`, `[2001:db8::1]:80`.
  private static func address(_ element: ArraySlice<UInt8>) -> IPAddress? {
    let text = String(decoding: element, as: UTF8.self)
    let trimmed = text.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
    guard trimmed.first == "[" else {
      let colons = trimmed.utf8.count { $0 == UInt8(ascii: ":") }
      return IPAddress(colons == 1 ? trimmed.prefix { $0 != ":" } : trimmed)
    }
    let inside = trimmed.dropFirst()
    guard let end = inside.firstIndex(of: "]") else { return nil }
    let behind = inside[inside.index(after: end)...]
    guard behind.isEmpty || behind.first == ":" else { return nil }
    return IPAddress(inside[..<end])
  }
}
