import LockstepHTTP

extension RequestHead {
  /// The path without the id of a screen, because the id of a login screen gives access to a token, and
  /// without the token of a link in a mail. A path that no route has may contain such a token too, for
  /// example if a mail program has encoded the `#` of the link, so its place does not matter.
  package var pathWithoutSecrets: String {
    var parts = path.split(separator: "/", omittingEmptySubsequences: false)
    // The router decodes each part too.
    let decoded = parts.map { part in
      PercentEncoding.decoded(Array(part.utf8)[...], isQuery: false).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
    if let index = decoded.firstIndex(where: { Self.beforeTokens.contains($0.lowercased()) }) {
      for index in parts.indices.dropFirst(index + 1) where !parts[index].isEmpty { parts[index] = "{token}" }
    } else if parts.count > 4, decoded[1] == "v1", decoded[2] == "reactors" {
      parts[4] = "{id}"
    }
    for index in parts.indices where Self.hasToken(decoded[index]) { parts[index] = "{token}" }
    return parts.joined(separator: "/")
  }

  /// Whether a text has as many hexadecimal digits in a row as the token of a mail.
  private static func hasToken(_ text: String) -> Bool {
    var count = 0
    for byte in text.utf8 {
      let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      count = isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20) ? count + 1 : 0
      if count >= 64 { return true }
    }
    return false
  }

  private static let beforeTokens = ["password-resets", "email-proofs"]
}
