/// Why a text is not the URL of an upstream.
public struct UpstreamURLError: Error, Equatable {
  /// Completes a sentence that begins with “it”.
  public let reason: String
}

/// The URL of an upstream, with the scheme `http` or `https`.
///
/// Its descriptions show only the scheme, host and port, because the other parts may be secret.
public struct UpstreamURL: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The whole URL, with its secret parts.
  public let text: String
  /// For example `https://people.example:8443`.
  public let description: String

  /// The host without brackets, such as `people.example` or `::1`.
  package var host: String {
    let place = description.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: true).last?.drop {
      $0 == "/"
    }
    guard let place else { return "" }
    return place.hasPrefix("[")
      ? String(place.dropFirst().prefix { $0 != "]" }) : String(place.prefix { $0 != ":" })
  }

  /// Reads an absolute URL: ASCII, no fragment, at most 2,048 bytes.
  public init(_ text: String) throws(UpstreamURLError) {
    guard text.utf8.count <= 2_048 else { throw UpstreamURLError(reason: "is longer than 2048 bytes") }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"<>\\^`{|}#".utf8.contains($0) }) else {
      throw UpstreamURLError(
        reason: "has a character that is not allowed in a URL; percent-encode it, and leave out the fragment"
      )
    }
    let scheme = text.lowercased()
    guard let start = ["https://", "http://"].first(where: { scheme.hasPrefix($0) }) else {
      throw UpstreamURLError(reason: "must begin with https:// or http://")
    }
    let authority = text.dropFirst(start.count).prefix { $0 != "/" && $0 != "?" }
    let parts = authority.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count <= 2, let place = parts.last, let port = Self.port(behindHostOf: place) else {
      throw UpstreamURLError(
        reason: "must have a valid host, with or without a port, such as people.example or 10.0.0.7:8080"
      )
    }
    guard port.isEmpty || (Int(port).map { (1...65_535).contains($0) } ?? false) else {
      throw UpstreamURLError(reason: "has a port that is not between 1 and 65535")
    }
    self.text = text
    description = start + place.lowercased()
  }

  /// The digits after the host's colon, empty without a port; `nil` if the host or the port is not
  /// valid.
  private static func port(behindHostOf place: Substring) -> Substring? {
    let host: Substring
    if place.hasPrefix("[") {
      guard let end = place.firstIndex(of: "]") else { return nil }
      host = place[...end]
      let address = host.dropFirst().dropLast()
      guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
    } else {
      host = place.prefix { $0 != ":" }
      guard !host.isEmpty, host.allSatisfy({ $0.isLetter || $0.isNumber || "-._".contains($0) }) else { return nil }
    }
    let rest = place.dropFirst(host.count)
    guard let colon = rest.first else { return rest }
    let digits = rest.dropFirst()
    guard colon == ":", !digits.isEmpty, digits.count <= 5, digits.allSatisfy(\.isNumber) else { return nil }
    return digits
  }

  /// The same as `description`.
  public var debugDescription: String { description }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
