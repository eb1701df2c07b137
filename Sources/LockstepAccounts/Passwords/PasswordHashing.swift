import CLockstepSodium
import LockstepCryptography
import LockstepStore

/// Hashes and verifies passwords on other threads, because hashing is slow on purpose.
///
/// Each call is for an owner, whose calls do not delay those of others for long. A call may throw
/// `overloaded` if too many calls are waiting, `store(.closed)` after the pool has shut down, and
/// `outOfMemory`.
package protocol PasswordHashing: Sendable {
  /// A hash that no password matches. Verifying against it takes as long as against any other.
  var dummy: PasswordHash { get }

  func hash(_ password: Password, for owner: HashingOwner) async throws(AccountsError) -> PasswordHash

  /// Whether the password matches. No password matches a text that is not a hash.
  func verify(
    _ password: Password,
    against hash: PasswordHash,
    for owner: HashingOwner
  ) async throws(AccountsError) -> Bool

  /// Derives bytes from a password and 16 bytes of salt, at the cost of a hash.
  func derive(
    _ count: Int,
    from password: Password,
    salt: [UInt8],
    for owner: HashingOwner
  ) async throws(AccountsError) -> [UInt8]

  func isOutdated(_ hash: PasswordHash) -> Bool
}

/// The amount of work for one hash, and so for each guess.
public struct Argon2Strength: Sendable, Equatable {
  /// The memory of each hash in KiB. Default: 19 MiB, as OWASP recommends for two passes.
  public var memoryKiB: Int
  /// How many times a hash passes over its memory. Default: 2.
  public var passes: Int

  /// libsodium's minimum is 8 KiB and one pass.
  public init(memoryKiB: Int = 19 * 1024, passes: Int = 2) {
    self.memoryKiB = memoryKiB
    self.passes = passes
  }
}

/// Runs libsodium's argon2id on a thread pool of its own, so that many logins at once delay only
/// logins. The number of threads limits the memory for hashing. The caller shuts the pool down.
package struct Argon2Hasher: PasswordHashing {
  private let strength: Argon2Strength
  private let workers: HashingPool

  /// `sodium` proves that libsodium is initialised. Hashing takes random salts from it.
  package init(_ sodium: Sodium, strength: Argon2Strength = Argon2Strength(), workers: HashingPool) {
    self.strength = strength
    self.workers = workers
  }

  /// The salt and the output are zeros. No password with that output is known or can be found.
  package var dummy: PasswordHash {
    let salt = String(repeating: "A", count: 22)
    let output = String(repeating: "A", count: 43)
    return PasswordHash("$argon2id$v=19$m=\(strength.memoryKiB),t=\(strength.passes),p=1$\(salt)$\(output)")
  }

  package func hash(_ password: Password, for owner: HashingOwner) async throws(AccountsError) -> PasswordHash {
    let (passes, memory) = (UInt64(strength.passes), strength.memoryKiB * 1024)
    return try await run(for: owner) {
      try password.withBytes { bytes in
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
        let code = crypto_pwhash_str_alg(
          &text,
          bytes,
          UInt64(bytes.count),
          passes,
          memory,
          crypto_pwhash_argon2id_ALG_ARGON2ID13
        )
        guard code == 0 else { throw AccountsError.outOfMemory }
        // libsodium fills the array after the text with zero bytes.
        return PasswordHash(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
      }
    }
  }

  /// Compares in constant time. An imported user may have the hash of another system.
  package func verify(
    _ password: Password,
    against hash: PasswordHash,
    for owner: HashingOwner
  ) async throws(AccountsError) -> Bool {
    try await run(for: owner) {
      try password.withBytes { bytes in
        if hash.isArgon2id { return crypto_pwhash_str_verify(hash.text, bytes, UInt64(bytes.count)) == 0 }
        guard let foreign = try? ForeignPasswordHash(hash.text) else { return false }
        return try bytes.withUnsafeBytes { bytes throws in
          do throws(CryptographyError) { return try foreign.matches(bytes) } catch { throw AccountsError(error) }
        }
      }
    }
  }

  package func derive(
    _ count: Int,
    from password: Password,
    salt: [UInt8],
    for owner: HashingOwner
  ) async throws(AccountsError) -> [UInt8] {
    let (passes, memory) = (UInt64(strength.passes), strength.memoryKiB * 1024)
    return try await run(for: owner) {
      try password.withBytes { bytes in
        var derived = [UInt8](repeating: 0, count: count)
        // libsodium always reads this many bytes of salt.
        let length = Int(crypto_pwhash_SALTBYTES)
        let salt = Array((salt + [UInt8](repeating: 0, count: length)).prefix(length))
        let code = crypto_pwhash(
          &derived,
          UInt64(count),
          bytes,
          UInt64(bytes.count),
          salt,
          passes,
          memory,
          crypto_pwhash_ALG_ARGON2ID13
        )
        guard code == 0 else { throw AccountsError.outOfMemory }
        return derived
      }
    }
  }

  package func isOutdated(_ hash: PasswordHash) -> Bool {
    !hash.isArgon2id
      || crypto_pwhash_str_needs_rehash(hash.text, UInt64(strength.passes), strength.memoryKiB * 1024) != 0
  }

  private func run<Result: Sendable>(
    for owner: HashingOwner,
    _ work: @escaping @Sendable () throws -> Result
  ) async throws(AccountsError) -> Result {
    try await AccountsError.converting { try await workers.run(for: owner, work) }
  }
}

extension PasswordHash {
  /// Whether libsodium can verify it, with any parameters.
  fileprivate var isArgon2id: Bool { text.hasPrefix("$argon2id$") }
}

extension AccountsError {
  fileprivate init(_ error: CryptographyError) {
    switch error {
    case .outOfMemory: self = .outOfMemory
    case .libraryMissing: self = .libraryMissing("\(error)")
    }
  }
}
