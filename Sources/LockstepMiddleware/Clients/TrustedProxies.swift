import LockstepHTTP

/// The proxies whose `X-Forwarded-For` header is trusted.
///
/// nginx, HAProxy and Caddy all write that header. The server must not also read `Forwarded` (RFC
/// 7239). A proxy that writes only `X-Forwarded-For` passes on the `Forwarded` of the client, which
/// could forge its address there.
package struct TrustedProxies: Sendable {
  private let networks: [IPNetwork]

  /// The most addresses that are read, because a client may send thousands.
  private static let longestWay = 32

  package init?(_ networks: [IPNetwork]) {
    if networks.isEmpty { return nil }
    self.networks = networks
  }

  func named(_ request: Request) -> Request {
    guard let client = client(of: request.head, from: request.peer) else { return request }
    var request = request
    request.peer = client
    return request
  }

  /// The client that the header names. Nil if there is none, or the peer is not a trusted proxy.
  ///
  /// Each proxy appends its peer on the right. The client is the first address from the right that
  /// is not a trusted proxy, because addresses further left can be forged. If the search finds only
  /// trusted proxies before it ends, the client is the last of them. An invalid element ends it.
  func client(of head: RequestHead, from peer: PeerAddress) -> PeerAddress? {
    address(of: head, from: peer).map { PeerAddress(host: $0.description, port: 0) }
  }

  private func address(of head: RequestHead, from peer: PeerAddress) -> IPAddress? {
    guard let peer = IPAddress(peer.host), isTrusted(peer) else { return nil }
    var client: IPAddress?
    var steps = 0
    for value in head.values(.xForwardedFor).reversed() {
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

  /// Reads `192.0.2.1`, `2001:db8::1`, or with a port `192.0.2.1:80`, `[2001:db8::1]:80`.
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
