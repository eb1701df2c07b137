import CLockstepCrypto
import CLockstepSodium

/// PBKDF2 with HMAC: `$pbkdf2-sha256$<iterations>$<salt>$<hash>`, and the same with `sha1` and
/// `sha512`.
struct PBKDF2Scheme: PasswordScheme {
  private enum Hash: String {
    case sha1, sha256, sha512

    /// The size of its output in bytes, which is also its name for the library.
    var size: Int {
      switch self {
      case .sha1: lockstep_sha1
      case .sha256: lockstep_sha256
      case .sha512: lockstep_sha512
      }
    }
  }

  /// How often the hash function may run for one password. SHA-512 takes about twice as long as the
  /// others.
  private static let work = 2_500_000

  private let hash: Hash
  private let iterations: Int
  private let salt: [UInt8]
  private let output: [UInt8]

  init(
    _ hash: Substring,
    iterations: Substring,
    salt: [UInt8]?,
    output: [UInt8]?
  ) throws(ForeignPasswordHashError) {
    guard let hash = Hash(rawValue: String(hash)) else {
      throw .malformed(form: "PBKDF2", fault: "its hash function is none of sha1, sha256 and sha512")
    }
    guard let iterations = Int(digits: iterations) else {
      throw .malformed(form: "PBKDF2", fault: "its number of iterations is not a number")
    }
    try self.init(hash, iterations: iterations, salt: salt, output: output)
  }

  private init(
    _ hash: Hash,
    iterations: Int,
    salt: [UInt8]?,
    output: [UInt8]?
  ) throws(ForeignPasswordHashError) {
    (self.salt, self.output) = try ForeignPasswordHashError.check("PBKDF2", salt: salt, output: output)
    guard iterations >= 1 else { throw .malformed(form: "PBKDF2", fault: "it has no iterations") }
    // PBKDF2 computes its output in blocks, each with all iterations.
    let blocks = (self.output.count + hash.size - 1) / hash.size
    let most = Self.work / blocks / (hash == .sha512 ? 2 : 1)
    guard iterations <= most else {
      throw .tooCostly(form: "PBKDF2", fault: "it has \(iterations) iterations, and the most for this hash is \(most)")
    }
    (self.hash, self.iterations) = (hash, iterations)
  }

  /// Reads the bytes of a hash of ASP.NET Core Identity. Version 2 is a zero byte, 16 bytes of salt
  /// and 32 bytes of hash. Version 3 is a one, three numbers of 32 bits (hash function, iterations,
  /// size of the salt), the salt and the hash.
  init(identityOfASPNET bytes: [UInt8]?) throws(ForeignPasswordHashError) {
    let malformed = ForeignPasswordHashError.malformed(
      form: "ASP.NET Core Identity",
      fault: "its Base64 does not contain a hash of version 2 or 3"
    )
    guard let bytes, let version = bytes.first else { throw malformed }
    func number(at place: Int) -> Int { bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    if version == 0, bytes.count == 49 {
      try self.init(.sha1, iterations: 1000, salt: Array(bytes[1..<17]), output: Array(bytes[17...]))
    } else if version == 1, bytes.count > 13, (0...2).contains(number(at: 1)), number(at: 9) <= bytes.count - 13 {
      let start = 13 + number(at: 9)
      try self.init(
        [.sha1, .sha256, .sha512][number(at: 1)],
        iterations: number(at: 5),
        salt: Array(bytes[13..<start]),
        output: Array(bytes[start...])
      )
    } else {
      throw malformed
    }
  }

  var name: String { "PBKDF2" }

  var text: String { "$pbkdf2-\(hash.rawValue)$\(iterations)$\(Base64.encode(salt))$\(Base64.encode(output))" }

  func loadLibrary() throws(CryptographyError) { try CryptoLibrary.load() }

  func matches(_ password: UnsafeRawBufferPointer) throws(CryptographyError) -> Bool {
    let library = try CryptoLibrary.load()
    guard password.count <= Int32.max else { return false }
    var derived = [UInt8](repeating: 0, count: output.count)
    let code = lockstep_pbkdf2(
      library.functions,
      Int32(hash.size),
      password.bindMemory(to: CChar.self).baseAddress,
      Int32(password.count),
      salt,
      Int32(salt.count),
      Int32(iterations),
      &derived,
      Int32(derived.count)
    )
    guard code != 0 else { throw .outOfMemory }
    return sodium_memcmp(derived, output, output.count) == 0
  }
}
