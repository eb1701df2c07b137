import CLockstepSodium
import LockstepStore
import LockstepThreading

/// How much work one hash takes, and so how much guessing takes.
public struct Argon2Strength: Sendable, Equatable {
  /// The memory that each hash fills, in KiB. Default: 19 MiB, as OWASP advises for two passes.
  public var memoryKiB: Int
  /// How often it goes through it. Default: 2.
  public var passes: Int

  /// A strength with its defaults. libsodium's least is 8 KiB and one pass.
  public init(memoryKiB: Int = 19 * 1024, passes: Int = 2) {
    self.memoryKiB = memoryKiB
    self.passes = passes
  }
}

/// argon2id by libsodium, on a pool of its own: a storm of logins makes logins slow, and nothing else.
///
/// The pool bounds the memory too: as many hashes run at a time as it has threads. It isn't shut down by this.
public struct Argon2Hasher: PasswordHashing {
  private let strength: Argon2Strength
  private let workers: WorkerPool

  /// - Parameters:
  ///   - sodium: libsodium, ready: hashing draws salts from it.
  ///   - strength: How much work a hash takes.
  ///   - workers: Where it's done.
  public init(_ sodium: Sodium, strength: Argon2Strength = Argon2Strength(), workers: WorkerPool) {
    self.strength = strength
    self.workers = workers
  }

  /// Zeros for the salt and for what comes out: no password is known to give them, and none can be found.
  public var dummy: PasswordHash {
    let salt = String(repeating: "A", count: 22)
    let output = String(repeating: "A", count: 43)
    return PasswordHash("$argon2id$v=19$m=\(strength.memoryKiB),t=\(strength.passes),p=1$\(salt)$\(output)")
  }

  /// See `PasswordHashing`.
  public func hash(_ password: Password) async throws(AccountsError) -> PasswordHash {
    let (passes, memory) = (UInt64(strength.passes), strength.memoryKiB * 1024)
    return try await run {
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
        // The text ends at its first zero byte: libsodium fills the rest of the array with them.
        return PasswordHash(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
      }
    }
  }

  /// See `PasswordHashing`. libsodium compares in constant time.
  public func verify(_ password: Password, against hash: PasswordHash) async throws(AccountsError) -> Bool {
    try await run {
      password.withBytes { crypto_pwhash_str_verify(hash.text, $0, UInt64($0.count)) == 0 }
    }
  }

  /// See `PasswordHashing`.
  public func derive(_ count: Int, from password: Password, salt: [UInt8]) async throws(AccountsError) -> [UInt8] {
    let (passes, memory) = (UInt64(strength.passes), strength.memoryKiB * 1024)
    return try await run {
      try password.withBytes { bytes in
        var derived = [UInt8](repeating: 0, count: count)
        // libsodium reads as many bytes of salt as it wants, whatever there are.
        let salt = Array(
          (salt + [UInt8](repeating: 0, count: Int(crypto_pwhash_SALTBYTES))).prefix(Int(crypto_pwhash_SALTBYTES))
        )
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

  /// See `PasswordHashing`.
  public func isOutdated(_ hash: PasswordHash) -> Bool {
    crypto_pwhash_str_needs_rehash(hash.text, UInt64(strength.passes), strength.memoryKiB * 1024) != 0
  }

  private func run<Result: Sendable>(
    _ work: @escaping @Sendable () throws -> Result
  ) async throws(AccountsError) -> Result {
    do {
      return try await workers.run(work)
    } catch {
      throw AccountsError(thrown: error)
    }
  }
}
