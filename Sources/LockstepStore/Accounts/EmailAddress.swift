/// Why a text is not an e-mail address, in a sentence that does not repeat it.
public struct EmailAddressError: Error, Equatable, CustomStringConvertible {
  /// The sentence.
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// An e-mail address with a valid form. Whether it receives mail is not known.
public struct EmailAddress: Sendable, Equatable {
  /// The longest address that mail can be sent to, in bytes (RFC 5321, 4.5.3.1.3, without its angle brackets).
  public static let maximumBytes = 254

  /// The address as it was given.
  public let text: String
  /// The text in lower case. Addresses with the same key are the same.
  public let key: String

  /// Checks a text: `local@domain`, 1 to 64 bytes before the `@`, a domain of at least two labels after it, 254 bytes in
  /// total. Unicode letters are allowed. The quoted forms of RFC 5321 are refused.
  public init(_ text: String) throws(EmailAddressError) {
    guard !text.isEmpty else { throw EmailAddressError("The address is empty.") }
    guard text.utf8.count <= Self.maximumBytes else {
      throw EmailAddressError("The address is longer than \(Self.maximumBytes) bytes.")
    }
    guard text.unicodeScalars.allSatisfy(Self.isVisible) else {
      throw EmailAddressError("The address contains a space or an invisible character.")
    }
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      throw EmailAddressError(
        "The address has \(parts.count < 2 ? "no @" : "more than one @"): it must look like name@example.com."
      )
    }
    try Self.checkLocalPart(parts[0])
    try Self.checkDomain(parts[1])
    self.text = text
    key = text.lowercased()
  }

  /// Addresses are the same when their keys are.
  public static func == (left: EmailAddress, right: EmailAddress) -> Bool { left.key == right.key }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: false
    default: true
    }
  }

  private static func checkLocalPart(_ local: Substring.UTF8View) throws(EmailAddressError) {
    guard !local.isEmpty else { throw EmailAddressError("The address has nothing before the @.") }
    guard local.count <= 64 else {
      throw EmailAddressError("The part of the address before the @ is longer than 64 bytes.")
    }
    guard !local.contains(where: "()<>[]\\,;:\"".utf8.contains) else {
      throw EmailAddressError("The part of the address before the @ contains one of ( ) < > [ ] \\ , ; : \"")
    }
  }

  private static func checkDomain(_ domain: Substring.UTF8View) throws(EmailAddressError) {
    guard !domain.isEmpty else { throw EmailAddressError("The address has nothing after the @.") }
    let labels = domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard labels.count >= 2 else {
      throw EmailAddressError("The address's domain has no dot: it must look like example.com.")
    }
    guard labels.allSatisfy({ (1...63).contains($0.count) }) else {
      throw EmailAddressError("Each part of the address's domain must have 1 to 63 bytes.")
    }
    let hyphen = UInt8(ascii: "-")
    guard labels.allSatisfy({ $0.first != hyphen && $0.last != hyphen }) else {
      throw EmailAddressError("A part of the address's domain begins or ends with a hyphen.")
    }
    guard domain.allSatisfy(isDomainByte) else {
      throw EmailAddressError("The address's domain may only contain letters, digits, hyphens and dots.")
    }
  }

  /// Bytes of letters beyond ASCII are allowed: domain names may use any script.
  private static func isDomainByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), 0x80...: true
    default: false
    }
  }
}
