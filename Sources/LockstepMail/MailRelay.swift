/// Why a text is not the URL of a mail relay.
package struct MailRelayError: Error, Equatable {
  /// Completes a sentence that begins with “it”.
  package let reason: String
}

/// The URL of the mail server that passes mails on: `smtp://user:password@host:port`.
///
/// - `smtp` begins without encryption and requires STARTTLS. Its port is 587 by default.
/// - `smtps` is encrypted from the beginning. Its port is 465 by default.
/// - With `?tls=none`, or if the host is a loopback address, `smtp` is not encrypted. With
///   `?tls=required`, loopback requires STARTTLS too.
///
/// Its descriptions show only the scheme, host and port, because the other parts may be secret.
public struct MailRelay: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The user and the password of the relay.
  package struct Login: Sendable, Equatable {
    package let user: String
    package let password: String
  }

  /// For example `smtp://mail.example.com:587`.
  public let description: String
  package let login: Login?
  /// Whether the client sends nothing but its name before the connection is encrypted.
  package let requiresTLS: Bool

  /// Reads a URL: ASCII, at most 2,048 bytes. The user and the password are percent-encoded.
  package init(_ text: String) throws(MailRelayError) {
    guard text.utf8.count <= 2_048 else { throw MailRelayError(reason: "is longer than 2048 bytes") }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"<>\\^`{|}#".utf8.contains($0) }) else {
      throw MailRelayError(reason: "has a character that is not allowed in a URL; percent-encode it")
    }
    let lowercase = text.lowercased()
    guard let scheme = ["smtps://", "smtp://"].first(where: { lowercase.hasPrefix($0) }) else {
      throw MailRelayError(reason: "must begin with smtp:// or smtps://")
    }
    let rest = text.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let parts = authority.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count <= 2, let place = parts.last else {
      throw MailRelayError(reason: "has more than one @; percent-encode one in the user or the password as %40")
    }
    let (host, port) = try Self.hostAndPort(place)
    login = parts.count == 2 ? try Self.login(parts[0]) : nil
    let isSecure = scheme == "smtps://"
    let isLoopback = Self.isLoopback(host)
    switch String(rest.dropFirst(authority.count)) {
    case "", "/": requiresTLS = isSecure || !isLoopback
    case "?tls=required", "/?tls=required": requiresTLS = true
    case "?tls=none", "/?tls=none":
      guard !isSecure else { throw MailRelayError(reason: "has ?tls=none, but smtps:// is always encrypted") }
      requiresTLS = false
    default: throw MailRelayError(reason: "may have nothing after the port but ?tls=required or ?tls=none")
    }
    guard login == nil || requiresTLS || isLoopback else {
      throw MailRelayError(reason: "has a password, which must not be sent without encryption; leave out ?tls=none")
    }
    description = "\(scheme)\(host.lowercased()):\(port ?? (isSecure ? 465 : 587))"
  }

  /// The same as `description`.
  public var debugDescription: String { description }

  /// A mirror that shows nothing.
  public var customMirror: Mirror { Mirror(self, children: [:]) }

  private static func hostAndPort(_ place: Substring) throws(MailRelayError) -> (host: Substring, port: Int?) {
    let host: Substring
    if place.hasPrefix("["), let end = place.firstIndex(of: "]") {
      host = place[...end]
    } else {
      host = place.prefix { $0 != ":" }
    }
    let address = host.dropFirst().dropLast()
    let isHost =
      host.hasPrefix("[")
      ? address.contains(":") && address.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
      : !host.isEmpty && host.allSatisfy { $0.isLetter || $0.isNumber || "-._".contains($0) }
    guard isHost else { throw MailRelayError(reason: "must have a valid host, such as mail.example.com or 127.0.0.1") }
    let rest = place.dropFirst(host.count)
    guard !rest.isEmpty else { return (host, nil) }
    let digits = rest.dropFirst()
    guard rest.first == ":", digits.count <= 5, digits.allSatisfy(\.isNumber), let port = Int(digits),
      (1...65_535).contains(port)
    else {
      throw MailRelayError(
        reason: "has a port that is not between 1 and 65535; in a password, write / as %2F, and : as %3A"
      )
    }
    return (host, port)
  }

  private static func login(_ text: Substring) throws(MailRelayError) -> Login {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let user = decoded(parts[0]), let password = decoded(parts[1]), !user.isEmpty else {
      throw MailRelayError(reason: "must have a user and a password, percent-encoded, as user:password before the @")
    }
    return Login(user: user, password: password)
  }

  /// Nil if a `%` is not followed by two hexadecimal digits, or if the result is not UTF-8 or has a
  /// control character.
  private static func decoded(_ text: Substring) -> String? {
    var (bytes, rest) = ([UInt8](), text.utf8)
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = String(Substring(rest.prefix(2)))
      guard digits.utf8.count == 2, digits.allSatisfy(\.isHexDigit), let value = UInt8(digits, radix: 16) else {
        return nil
      }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F } ? String(validating: bytes, as: UTF8.self) : nil
  }

  private static func isLoopback(_ host: Substring) -> Bool {
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    let isIPv4 = numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
    return isIPv4 || ["localhost", "[::1]"].contains(host.lowercased())
  }
}
