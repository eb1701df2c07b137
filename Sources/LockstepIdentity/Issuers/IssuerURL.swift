/// The rules for URLs from which the server fetches keys.
enum IssuerURL {
  /// Why the text is no such URL, or nil. Completes a sentence that begins with “the URL”.
  ///
  /// Keys that come without TLS could come from an attacker. So `http` is only for this machine.
  static func fault(_ text: String) -> String? {
    guard text.utf8.count <= 2048 else { return "is longer than 2048 bytes" }
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && !"\"<>\\^`{|}#@".utf8.contains($0) }) else {
      return "has a character that is not allowed here, such as a space, @ or #"
    }
    let scheme = text.lowercased()
    let isSecure = scheme.hasPrefix("https://")
    guard isSecure || scheme.hasPrefix("http://") else { return "must begin with https://" }
    let authority = text.dropFirst(isSecure ? 8 : 7).prefix { $0 != "/" && $0 != "?" }
    guard let host = host(of: authority) else { return "must have a valid host, with or without a port" }
    guard isSecure || isLoopback(host) else {
      return "must begin with https://, because http is only for 127.0.0.1, [::1] and localhost"
    }
    return nil
  }

  /// The host before a valid port; nil if one of the two is not valid.
  private static func host(of authority: Substring) -> Substring? {
    let host: Substring
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[...end]
      let address = host.dropFirst().dropLast()
      guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
    } else {
      host = authority.prefix { $0 != ":" }
      guard !host.isEmpty, host.utf8.allSatisfy({ Self.isHostByte($0) }) else { return nil }
    }
    let rest = authority.dropFirst(host.count)
    guard !rest.isEmpty else { return host }
    let digits = rest.dropFirst()
    guard rest.first == ":", (1...5).contains(digits.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let port = Int(digits), (1...65_535).contains(port)
    else { return nil }
    return host
  }

  private static func isHostByte(_ byte: UInt8) -> Bool {
    Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber || "-._".utf8.contains(byte)
  }

  private static func isLoopback(_ host: Substring) -> Bool {
    if host.lowercased() == "localhost" || host == "[::1]" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127"
      && numbers.allSatisfy { (1...3).contains($0.count) && UInt8($0) != nil }
  }
}
