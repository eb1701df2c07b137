import LockstepHTTP

/// Proves to the other nodes of a fleet that a request comes from a node, and recognises such requests.
///
/// A forwarded request has two fields more: `Lockstep-Node` with the secret of all nodes, and
/// `Lockstep-Client` with the client's address. Without the right secret, both are ignored.
package struct NodeCredentials: Sendable {
  private static let longestHost = 64

  private let secret: [UInt8]

  /// The secret must be visible ASCII characters.
  package init(secret: String) { self.secret = Array(secret.utf8) }

  /// The lines of both fields, for a request of this client.
  package func lines(for client: PeerAddress) -> [UInt8] {
    var fields = HeaderFields()
    fields.append(.lockstepNode, String(decoding: secret, as: UTF8.self))
    fields.append(.lockstepClient, client.host)
    return fields.bytes
  }

  /// The client of a request that another node has forwarded; nil for all other requests.
  package func client(of head: RequestHead) -> PeerAddress? {
    guard head.withBytes(of: .lockstepNode, isSecret) == true, let host = head[.lockstepClient],
      (1...Self.longestHost).contains(host.utf8.count)
    else { return nil }
    return PeerAddress(host: host, port: 0)
  }

  /// Compares in constant time.
  private func isSecret(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count == secret.count else { return false }
    return zip(bytes, secret).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
