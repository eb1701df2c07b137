/// Why a text is not a public URL.
package struct PublicURLError: Error, Equatable {
  /// Completes a sentence that begins with “it”.
  package let reason: String
}

/// The URL by which users reach the server, such as `https://notes.example.com`: for links in mails,
/// and to recognise the server's own pages.
public struct PublicURL: Sendable, Equatable, CustomStringConvertible {
  /// Without a slash at the end.
  public let description: String
  /// The host and, if the URL has one, the port.
  package let server: String

  /// Reads a URL with `https` or `http`, at most 512 bytes. It may have a path, if a proxy serves
  /// the server below one, but no user, query or fragment.
  package init(_ text: String) throws(PublicURLError) {
    guard text.utf8.count <= 512,
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"'<>\\^`{|}".utf8.contains($0) })
    else { throw PublicURLError(reason: "is longer than 512 bytes or has a character that is not allowed in a URL") }
    let lowercase = text.lowercased()
    guard let scheme = ["https://", "http://"].first(where: { lowercase.hasPrefix($0) }) else {
      throw PublicURLError(reason: "must begin with https:// or http://")
    }
    let rest = text.dropFirst(scheme.count)
    let server = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard !server.isEmpty, !server.contains("@"), !rest.contains("?"), !rest.contains("#") else {
      throw PublicURLError(reason: "must have a host, and neither a user, nor a query or fragment")
    }
    var path = rest.dropFirst(server.count)
    while path.hasSuffix("/") { path = path.dropLast() }
    self.server = server.lowercased()
    description = scheme + server.lowercased() + path
  }

  /// The origin of pages at this URL, in the form of the field `Origin`.
  package var origin: String {
    let scheme = description.hasPrefix("https") ? "https" : "http"
    let defaultPort = scheme == "https" ? ":443" : ":80"
    return "\(scheme)://\(server.hasSuffix(defaultPort) ? String(server.dropLast(defaultPort.count)) : server)"
  }

  /// The page that takes a new password. Browsers do not send the part after the `#`, so opening
  /// the link writes the token to no log and no Referer.
  package func resetLink(_ token: String) -> String { "\(self)/account/reset#token=\(token)" }

  /// The page that confirms an address.
  package func confirmLink(_ token: String) -> String { "\(self)/account/confirm#token=\(token)" }
}
