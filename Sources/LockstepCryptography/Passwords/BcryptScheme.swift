import CLockstepCrypto
import CLockstepSodium

/// bcrypt: `$2b$<cost>$<salt><hash>`, and the same with `$2a$` and `$2y$`.
///
/// - bcrypt uses only the first 72 bytes of a password.
/// - No password with a zero byte matches, because bcrypt ends a password there.
/// - With `hashesFirst`, bcrypt hashes the SHA-256 of the password in hexadecimal digits, as
///   Django's `bcrypt_sha256$` does.
struct BcryptScheme: PasswordScheme {
  private static let costs = 4...14
  private static let alphabet = Set("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
  /// The last digit of a hash has two bits that are not used, and that are zero.
  private static let lastDigits = Set(".CGKOSWaeimquy26".utf8)

  private let hash: String
  private let hashesFirst: Bool

  init(_ hash: String, hashesFirst: Bool) throws(ForeignPasswordHashError) {
    let bytes = Array(hash.utf8)
    guard bytes.count == 60, ["$2a$", "$2b$", "$2y$"].contains(hash.prefix(4)), bytes[6] == UInt8(ascii: "$"),
      bytes[7...].allSatisfy(Self.alphabet.contains), Self.lastDigits.contains(bytes[59])
    else {
      throw .malformed(
        form: "bcrypt",
        fault: "it is not $2b$, a cost of two digits, $ and 53 characters of salt and hash"
      )
    }
    guard bytes[4...5].allSatisfy({ (0x30...0x39).contains($0) }), let cost = Int(hash.dropFirst(4).prefix(2)),
      cost >= Self.costs.lowerBound
    else {
      throw .malformed(form: "bcrypt", fault: "its cost is not a number of at least 04")
    }
    guard Self.costs.contains(cost) else {
      throw .tooCostly(form: "bcrypt", fault: "its cost is \(cost), and the most is \(Self.costs.upperBound)")
    }
    (self.hash, self.hashesFirst) = (hash, hashesFirst)
  }

  var name: String { "bcrypt" }

  var text: String { hashesFirst ? "bcrypt_sha256$\(hash)" : hash }

  func loadLibrary() throws(CryptographyError) { try CryptLibrary.load() }

  func matches(_ password: UnsafeRawBufferPointer) throws(CryptographyError) -> Bool {
    let library = try CryptLibrary.load()
    var bytes = hashesFirst ? Self.hexadecimalHash(of: password) : Array(password.prefix(72))
    guard hashesFirst || !password.contains(0) else { return false }
    bytes.append(0)
    defer { wipe(&bytes) }
    // libcrypt computes `$2a$` differently for some passwords, to protect users of a faulty
    // version. All correct implementations compute the same for the three prefixes.
    let setting = "$2b$" + hash.dropFirst(4)
    var output = [CChar](repeating: 0, count: Int(CRYPT_OUTPUT_SIZE))
    // The password ends with a zero byte, and the output has the size that the function requires.
    let isHashed = bytes.withUnsafeBytes { bytes in
      withUnsafePointer(to: library.functions) {
        lockstep_crypt_hash($0, bytes.bindMemory(to: CChar.self).baseAddress, setting, &output) != 0
      }
    }
    guard isHashed else { throw .outOfMemory }
    // The salt has unused bits too, which some implementations set. So only the hashes are
    // compared.
    let (computed, stored) = (output[29..<60].map(UInt8.init(bitPattern:)), Array(hash.utf8.suffix(31)))
    return sodium_memcmp(computed, stored, stored.count) == 0
  }

  private static func hexadecimalHash(of password: UnsafeRawBufferPointer) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    let bytes = Array(password)
    crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return Hexadecimal.encode(digest)
  }
}
