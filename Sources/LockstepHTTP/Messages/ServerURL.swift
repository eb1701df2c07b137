/// The URL of a server, with the scheme `http` and without a path: `http://10.0.0.7:8080`.
public struct ServerURL: Sendable, Equatable, CustomStringConvertible {
  package let address: PeerAddress

  package init(_ address: PeerAddress) { self.address = address }

  /// Reads a URL. A slash may follow the host and the port; without a port, it is 80. Nil for any
  /// other text.
  public init?(_ text: String) {
    guard text.utf8.count <= 300, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
      text.prefix(7).lowercased() == "http://"
    else { return nil }
    var rest = text.dropFirst(7)
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    let host: Substring
    if rest.hasPrefix("[") {
      guard let end = rest.firstIndex(of: "]") else { return nil }
      host = rest[rest.index(after: rest.startIndex)..<end]
      guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
      rest = rest[rest.index(after: end)...]
    } else {
      host = rest.prefix { $0 != ":" }
      guard !host.isEmpty, host.allSatisfy({ $0.isLetter || $0.isNumber || "-._".contains($0) }) else { return nil }
      rest = rest.dropFirst(host.count)
    }
    guard let port = Self.port(rest) else { return nil }
    address = PeerAddress(host: String(host), port: port)
  }

  /// `http://127.0.0.1:80` or `http://[::1]:80`.
  public var description: String { "http://\(address)" }

  private static func port(_ text: Substring) -> Int? {
    guard text.first == ":" else { return text.isEmpty ? 80 : nil }
    let digits = text.dropFirst()
    guard (1...5).contains(digits.count), digits.utf8.allSatisfy(\.isDigit), let port = Int(digits) else { return nil }
    return (1...65_535).contains(port) ? port : nil
  }
}
