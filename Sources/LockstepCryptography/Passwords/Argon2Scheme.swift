import CLockstepSodium

/// Argon2id in the PHC string format: `$argon2id$v=19$m=<KiB>,t=<passes>,p=<lanes>$<salt>$<hash>`.
/// The server's own hashes have the same form, with other costs.
struct Argon2Scheme: PasswordScheme {
  /// KiB of memory.
  private static let memory = 131_072
  /// The most of KiB times passes.
  private static let work = 1 << 19

  let text: String

  init(_ text: String) throws(ForeignPasswordHashError) {
    let form = "Argon2id"
    let parts = text.split(separator: "$", omittingEmptySubsequences: false)
    guard parts.count == 6, parts[1] == "argon2id", parts[2] == "v=19" else {
      throw .malformed(form: form, fault: "it does not begin with $argon2id$v=19$, or has too few or too many parts")
    }
    guard let numbers = NamedNumbers(parts[3], names: ["m", "t", "p"])?.values, numbers.allSatisfy({ $0 >= 1 }) else {
      throw .malformed(form: form, fault: "its parameters are not like m=19456,t=2,p=1")
    }
    guard numbers[0] <= Self.memory, numbers[2] <= 16 else {
      throw .tooCostly(form: form, fault: "it takes more than 64 MiB of memory or more than 16 lanes")
    }
    guard numbers[1] <= Self.work / numbers[0] else {
      throw .tooCostly(form: form, fault: "m · t is greater than \(Self.work)")
    }
    let (salt, output) = try ForeignPasswordHashError.check(
      form,
      salt: Base64.decode(parts[4]),
      output: Base64.decode(parts[5])
    )
    guard salt.count >= 8, numbers[0] >= 8 * numbers[2] else {
      throw .malformed(form: form, fault: "its salt has less than 8 bytes, or it has less than 8 KiB for each lane")
    }
    let head = "$argon2id$v=19$m=\(numbers[0]),t=\(numbers[1]),p=\(numbers[2])"
    self.text = "\(head)$\(Base64.encode(salt))$\(Base64.encode(output))"
  }

  var name: String { "Argon2id" }

  func loadLibrary() {}

  /// libsodium compares in constant time. It cannot say that memory is short; the password does not
  /// match then.
  func matches(_ password: UnsafeRawBufferPointer) -> Bool {
    var bytes = password.map(CChar.init(bitPattern:))
    defer { wipe(&bytes) }
    return crypto_pwhash_str_verify(text, bytes, UInt64(bytes.count)) == 0
  }
}
