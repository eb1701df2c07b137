/// Finds out the form of a password hash.
struct PasswordSchemeReader {
  private let text: String
  private let parts: [Substring]

  init(_ text: String) {
    self.text = text
    parts = text.split(separator: "$", omittingEmptySubsequences: false)
  }

  func scheme() throws(ForeignPasswordHashError) -> any PasswordScheme {
    guard text.utf8.count <= 1024, let first = parts.first else { throw .unknownForm }
    if first.isEmpty, parts.count >= 3 { return try modular(parts[1], Array(parts.dropFirst(2))) }
    if first.hasPrefix("pbkdf2_") { return try djangoPBKDF2(first.dropFirst(7)) }
    if first.hasPrefix("pbkdf2:") || first.hasPrefix("scrypt:") { return try werkzeug(first.split(separator: ":")) }
    switch first {
    case "scrypt": return try djangoScrypt()
    case "bcrypt", "bcrypt_sha256":
      return try BcryptScheme(String(text.dropFirst(first.count + 1)), hashesFirst: first == "bcrypt_sha256")
    case "argon2": return try Argon2Scheme("$" + text.dropFirst(7))
    default: throw .unknownForm
    }
  }

  /// `$name$…`, as in crypt(3), passlib and the PHC string format.
  private func modular(
    _ name: Substring,
    _ rest: [Substring]
  ) throws(ForeignPasswordHashError) -> any PasswordScheme {
    switch name {
    case "2a", "2b", "2y": return try BcryptScheme(text, hashesFirst: false)
    case "argon2id": return try Argon2Scheme(text)
    case "pbkdf2", "pbkdf2-sha1", "pbkdf2-sha256", "pbkdf2-sha512":
      guard rest.count == 3 else { throw .malformed(form: "PBKDF2", fault: Fault.parts) }
      return try PBKDF2Scheme(
        name.split(separator: "-").dropFirst().first ?? "sha1",
        iterations: rest[0],
        salt: Base64.decode(rest[1]),
        output: Base64.decode(rest[2])
      )
    case "scrypt":
      guard rest.count == 3 else { throw .malformed(form: "scrypt", fault: Fault.parts) }
      let cost = try ScryptCost(form: "scrypt", rest[0], names: ["ln", "r", "p"])
      return try ScryptScheme(cost, salt: Base64.decode(rest[1]), output: Base64.decode(rest[2]))
    case "firebase-scrypt": return try FirebaseScheme(rest)
    case "aspnet-identity":
      guard rest.count == 1 else { throw .malformed(form: "ASP.NET Core Identity", fault: Fault.parts) }
      return try PBKDF2Scheme(identityOfASPNET: Base64.decode(rest[0]))
    default: throw .unknownForm
    }
  }

  /// `pbkdf2_sha256$<iterations>$<salt>$<hash>`. The salt is text, and the hash is Base64.
  private func djangoPBKDF2(_ hash: Substring) throws(ForeignPasswordHashError) -> any PasswordScheme {
    guard parts.count == 4 else { throw .malformed(form: "PBKDF2 of Django", fault: Fault.parts) }
    return try PBKDF2Scheme(hash, iterations: parts[1], salt: Array(parts[2].utf8), output: Base64.decode(parts[3]))
  }

  /// `scrypt$<N>$<salt>$<r>$<p>$<hash>`. The salt is text, and the hash is Base64.
  private func djangoScrypt() throws(ForeignPasswordHashError) -> any PasswordScheme {
    guard parts.count == 6 else { throw .malformed(form: "scrypt of Django", fault: Fault.parts) }
    let cost = try ScryptCost(form: "scrypt", count: parts[1], block: parts[3], lanes: parts[4])
    return try ScryptScheme(cost, salt: Array(parts[2].utf8), output: Base64.decode(parts[5]))
  }

  /// `pbkdf2:sha256:<iterations>$<salt>$<hash>` or `scrypt:<N>:<r>:<p>$<salt>$<hash>`. The salt is
  /// text, and the hash is hexadecimal.
  private func werkzeug(_ method: [Substring]) throws(ForeignPasswordHashError) -> any PasswordScheme {
    guard parts.count == 3 else { throw .malformed(form: "a hash of Werkzeug", fault: Fault.parts) }
    let (salt, output) = (Array(parts[1].utf8), Hexadecimal.decode(parts[2]))
    if method.count == 3 { return try PBKDF2Scheme(method[1], iterations: method[2], salt: salt, output: output) }
    guard method.count == 4, method[0] == "scrypt" else {
      throw .malformed(form: "a hash of Werkzeug", fault: "its method is not complete")
    }
    let cost = try ScryptCost(form: "scrypt", count: method[1], block: method[2], lanes: method[3])
    return try ScryptScheme(cost, salt: salt, output: output)
  }
}

/// Faults that several forms share.
enum Fault {
  static let parts = "it has too few or too many parts between the dollar signs"
  static let salt = "its salt is not valid, is empty or has more than 256 bytes"
  static let output = "its hash is not valid, or does not have 16 to 128 bytes"
}

extension ForeignPasswordHashError {
  /// Checks what all schemes but bcrypt have: a salt and a hash.
  static func check(_ form: String, salt: [UInt8]?, output: [UInt8]?) throws(ForeignPasswordHashError) -> (
    salt: [UInt8], output: [UInt8]
  ) {
    guard let salt, (1...256).contains(salt.count) else { throw .malformed(form: form, fault: Fault.salt) }
    guard let output, (16...128).contains(output.count) else { throw .malformed(form: form, fault: Fault.output) }
    return (salt, output)
  }
}

extension Int {
  /// A number in decimal digits, without a sign or unnecessary zeros.
  init?(digits text: Substring) {
    guard (1...10).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      text == "0" || text.first != "0", let number = Int(text)
    else { return nil }
    self = number
  }
}
