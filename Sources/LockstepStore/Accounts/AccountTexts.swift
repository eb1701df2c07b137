import LockstepJSON

/// Why a text is not an e-mail address or a device's name, in a sentence without that text.
package struct AccountTextError: Error, Equatable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}

private func expect(_ isValid: Bool, _ otherwise: @autoclosure () -> String) throws(AccountTextError) {
  if !isValid { throw AccountTextError(otherwise()) }
}

/// An e-mail address with a valid form. The server does not check whether it exists.
package struct EmailAddress: Sendable, Equatable {
  /// The longest address that mail can be sent to, in bytes (RFC 5321, 4.5.3.1.3, without its angle
  /// brackets).
  package static let maximumBytes = 254

  /// The address as it was given.
  package let text: String
  /// The text in lower case. Addresses are the same if the bytes of their keys are.
  package let key: String

  /// Checks a text: `local@domain`, 1 to 64 bytes before the `@`, a domain of at least two labels
  /// after it, at most 254 bytes in total. Unicode letters are allowed. The quoted forms of RFC
  /// 5321 are refused.
  package init(_ text: String) throws(AccountTextError) {
    try expect(!text.isEmpty, "The address is empty.")
    try expect(text.utf8.count <= Self.maximumBytes, "The address is longer than \(Self.maximumBytes) bytes.")
    let isVisible = text.unicodeScalars.allSatisfy(Self.isVisible)
    try expect(isVisible, "The address contains a space or an invisible character.")
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    let found = parts.count < 2 ? "no @" : "more than one @"
    try expect(parts.count == 2, "The address has \(found): it must look like name@example.com.")
    try Self.checkLocalPart(parts[0])
    try Self.checkDomain(parts[1])
    self.text = text
    key = Self.key(of: text)
  }

  /// The key of an address that was checked before, or of the beginning of one.
  package static func key(of text: String) -> String { text.lowercased() }

  package static func == (left: EmailAddress, right: EmailAddress) -> Bool { left.key.hasSameBytes(as: right.key) }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse: false
    default: true
    }
  }

  private static func checkLocalPart(_ local: Substring.UTF8View) throws(AccountTextError) {
    try expect(!local.isEmpty, "The address has nothing before the @.")
    try expect(local.count <= 64, "The part of the address before the @ is longer than 64 bytes.")
    let isPlain = !local.contains(where: "()<>[]\\,;:\"".utf8.contains)
    try expect(isPlain, "The part of the address before the @ contains one of ( ) < > [ ] \\ , ; : \"")
    // Some mail servers decode encoded words (RFC 2047) in an address, and get another address.
    let text = Substring(local)
    let isEncoded = text.contains("=?") && text.contains("?=")
    try expect(!isEncoded, "The part of the address before the @ contains an encoded word: =?…?=")
  }

  private static func checkDomain(_ domain: Substring.UTF8View) throws(AccountTextError) {
    try expect(!domain.isEmpty, "The address has nothing after the @.")
    let labels = domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    try expect(labels.count >= 2, "The address's domain has no dot: it must look like example.com.")
    let haveLength = labels.allSatisfy { (1...63).contains($0.count) }
    try expect(haveLength, "Each part of the address's domain must have 1 to 63 bytes.")
    let hyphen = UInt8(ascii: "-")
    let haveNoHyphen = labels.allSatisfy { $0.first != hyphen && $0.last != hyphen }
    try expect(haveNoHyphen, "A part of the address's domain begins or ends with a hyphen.")
    let isDomain = domain.allSatisfy(isDomainByte)
    try expect(isDomain, "The address's domain may only contain letters, digits, hyphens and dots.")
  }

  /// Bytes of letters beyond ASCII are allowed, because domain names may use any script.
  private static func isDomainByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), 0x80...: true
    default: false
    }
  }
}

/// The name of a device, by which a user recognises the device's session in a list.
package struct DeviceName: Sendable, Equatable {
  /// The length of the longest name, in Unicode scalars.
  package static let maximumCharacters = 128

  /// A pattern of JSON Schema: no control characters, and at least one character that is not a
  /// space.
  package static let pattern = #"^[^\x00-\x1F\x7F-\x9F]*[^\s\x00-\x1F\x7F-\x9F][^\x00-\x1F\x7F-\x9F]*$"#

  /// The JSON Schema of an optional name.
  package static let schema: JSON = [
    "type": ["string", "null"], "minLength": 1, "maxLength": JSON(maximumCharacters), "pattern": .string(pattern),
  ]

  /// The name, without the spaces around it.
  package let text: String

  /// Trims spaces and checks the name: 1 to 128 characters without control characters.
  package init(_ text: String) throws(AccountTextError) {
    let isSpace: (Unicode.Scalar) -> Bool = \.properties.isWhitespace
    var scalars = text.unicodeScalars.drop(while: isSpace)
    while let last = scalars.last, isSpace(last) { scalars.removeLast() }
    try expect(!scalars.isEmpty, "The device's name is empty. Omit it instead.")
    let hasLength = scalars.count <= Self.maximumCharacters
    try expect(hasLength, "The device's name is longer than \(Self.maximumCharacters) characters.")
    let isPrintable = scalars.allSatisfy { $0.properties.generalCategory != .control }
    try expect(isPrintable, "The device's name contains a control character.")
    self.text = String(scalars)
  }
}
