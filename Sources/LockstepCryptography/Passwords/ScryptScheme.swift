import CLockstepCrypto
import CLockstepSodium

/// The cost of scrypt: 2^`exponent` steps on blocks of 128 · `block` bytes, `lanes` times.
struct ScryptCost: Sendable, Equatable {
  private static let memory = 64 << 20
  /// The most of 2^`exponent` · `block` · `lanes`.
  private static let work = 1 << 21

  let exponent: Int
  let block: Int
  let lanes: Int

  init(form: String, exponent: Int, block: Int, lanes: Int) throws(ForeignPasswordHashError) {
    guard (1...63).contains(exponent), block >= 1, lanes >= 1 else {
      throw .malformed(form: form, fault: "its parameters are out of range")
    }
    // With these bounds, the products cannot overflow, and the memory for the lanes has at most 512
    // KiB.
    guard block <= 64, lanes <= 64 else { throw .tooCostly(form: form, fault: "r or p is greater than 64") }
    guard exponent <= 24, (128 << exponent) * block <= Self.memory else {
      throw .tooCostly(form: form, fault: "it takes more than 64 MiB of memory")
    }
    guard (1 << exponent) * block * lanes <= Self.work else {
      throw .tooCostly(form: form, fault: "N · r · p is greater than \(Self.work)")
    }
    (self.exponent, self.block, self.lanes) = (exponent, block, lanes)
  }

  /// Reads named numbers, such as `ln=14,r=8,p=1`. Without a third name, there is one lane.
  init(form: String, _ text: Substring, names: [String]) throws(ForeignPasswordHashError) {
    let numbers = NamedNumbers(text, names: names)?.values
    guard let numbers else {
      throw .malformed(
        form: form,
        fault: "its parameters are not like \(names.map { "\($0)=8" }.joined(separator: ","))"
      )
    }
    try self.init(form: form, exponent: numbers[0], block: numbers[1], lanes: numbers.count > 2 ? numbers[2] : 1)
  }

  /// Reads N itself, which must be a power of two.
  init(form: String, count: Substring, block: Substring, lanes: Substring) throws(ForeignPasswordHashError) {
    guard let count = Int(digits: count), let block = Int(digits: block), let lanes = Int(digits: lanes), count >= 2,
      count & (count - 1) == 0
    else { throw .malformed(form: form, fault: "N is not a power of two, or r or p is not a number") }
    try self.init(form: form, exponent: count.trailingZeroBitCount, block: block, lanes: lanes)
  }

  /// Derives bytes from a password.
  func derive(
    _ count: Int,
    from password: UnsafeRawBufferPointer,
    salt: [UInt8]
  ) throws(CryptographyError) -> [UInt8] {
    var derived = [UInt8](repeating: 0, count: count)
    // The library does not accept the null pointer of an empty password.
    var password = Array(password)
    defer { wipe(&password) }
    let code = crypto_pwhash_scryptsalsa208sha256_ll(
      password,
      password.count,
      salt,
      salt.count,
      1 << UInt64(exponent),
      UInt32(block),
      UInt32(lanes),
      &derived,
      derived.count
    )
    guard code == 0 else { throw .outOfMemory }
    return derived
  }
}

/// scrypt: `$scrypt$ln=<log2 of N>,r=<block size>,p=<lanes>$<salt>$<hash>`.
struct ScryptScheme: PasswordScheme {
  private let cost: ScryptCost
  private let salt: [UInt8]
  private let output: [UInt8]

  init(_ cost: ScryptCost, salt: [UInt8]?, output: [UInt8]?) throws(ForeignPasswordHashError) {
    (self.salt, self.output) = try ForeignPasswordHashError.check("scrypt", salt: salt, output: output)
    self.cost = cost
  }

  var name: String { "scrypt" }

  var text: String {
    "$scrypt$ln=\(cost.exponent),r=\(cost.block),p=\(cost.lanes)$\(Base64.encode(salt))$\(Base64.encode(output))"
  }

  func loadLibrary() {}

  func matches(_ password: UnsafeRawBufferPointer) throws(CryptographyError) -> Bool {
    let derived = try cost.derive(output.count, from: password, salt: salt)
    return sodium_memcmp(derived, output, output.count) == 0
  }
}

/// Firebase's variant of scrypt: `$firebase-scrypt$m=<mem_cost>,r=<rounds>$<salt>$<salt
/// separator>$<signer key>$<hash>`.
///
/// scrypt derives a key from the password and the two salts. The hash is the project's signer key,
/// encrypted with that key by AES-256 in counter mode.
struct FirebaseScheme: PasswordScheme {
  private static let form = "Firebase's scrypt"

  private let cost: ScryptCost
  private let salt: [UInt8]
  private let separator: [UInt8]
  private let signerKey: [UInt8]
  private let output: [UInt8]

  init(_ parts: [Substring]) throws(ForeignPasswordHashError) {
    guard parts.count == 5 else { throw .malformed(form: Self.form, fault: Fault.parts) }
    cost = try ScryptCost(form: Self.form, parts[0], names: ["m", "r"])
    (salt, output) = try ForeignPasswordHashError.check(
      Self.form,
      salt: Base64.decode(parts[1]),
      output: Base64.decode(parts[4])
    )
    guard let separator = Base64.decode(parts[2]), separator.count <= 64 else {
      throw .malformed(form: Self.form, fault: "its salt separator is not valid Base64 of at most 64 bytes")
    }
    guard let signerKey = Base64.decode(parts[3]), signerKey.count == output.count else {
      throw .malformed(form: Self.form, fault: "its signer key is not valid Base64, or not as long as the hash")
    }
    (self.separator, self.signerKey) = (separator, signerKey)
  }

  var name: String { Self.form }

  var text: String {
    let parts = [salt, separator, signerKey, output].map(Base64.encode).joined(separator: "$")
    return "$firebase-scrypt$m=\(cost.exponent),r=\(cost.block)$\(parts)"
  }

  func loadLibrary() throws(CryptographyError) { try CryptoLibrary.load() }

  func matches(_ password: UnsafeRawBufferPointer) throws(CryptographyError) -> Bool {
    let library = try CryptoLibrary.load()
    // The cipher takes the first 32 bytes.
    let key = try cost.derive(32, from: password, salt: salt + separator)
    var encrypted = [UInt8](repeating: 0, count: signerKey.count)
    guard lockstep_aes_ctr(library.functions, key, signerKey, Int32(signerKey.count), &encrypted) != 0 else {
      throw .outOfMemory
    }
    return sodium_memcmp(encrypted, output, output.count) == 0
  }
}
