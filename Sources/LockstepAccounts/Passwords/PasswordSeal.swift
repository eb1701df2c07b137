import CLockstepSodium
import LockstepStore

/// Encrypts a recorded response, so that only a client with the password can get it again.
///
/// Both keys are derived from the password as slowly as its hash. So an attacker who has the store
/// guesses no faster with sealed bytes and fingerprints than with the hash.
package struct PasswordSeal: Sendable, Redacted {
  private let sealingKey: [UInt8]
  private let fingerprintKey: [UInt8]

  /// The salt has 16 bytes, and must differ for each idempotency key.
  init(_ password: Password, salt: [UInt8], hasher: any PasswordHashing) async throws(AccountsError) {
    let length = Int(crypto_secretbox_KEYBYTES)
    let derived = try await hasher.derive(2 * length, from: password, salt: salt)
    sealingKey = Array(derived.prefix(length))
    fingerprintKey = Array(derived.dropFirst(length))
  }

  /// A hash that is the same only for the same request, password and salt.
  package func fingerprint(of request: [UInt8]) -> [UInt8] { DomainHash.of("sealed request", fingerprintKey, request) }

  /// Returns a nonce and libsodium's secret box of the bytes.
  package func seal(_ bytes: [UInt8]) -> [UInt8] {
    var nonce = [UInt8](repeating: 0, count: Int(crypto_secretbox_NONCEBYTES))
    randombytes_buf(&nonce, nonce.count)
    var sealed = [UInt8](repeating: 0, count: bytes.count + Int(crypto_secretbox_MACBYTES))
    // This cannot fail, because the buffers have the required lengths.
    crypto_secretbox_easy(&sealed, bytes, UInt64(bytes.count), nonce, sealingKey)
    return nonce + sealed
  }

  /// The bytes; nil if they were sealed with another password or salt, or `sealed` was changed.
  package func open(_ sealed: [UInt8]) -> [UInt8]? {
    let (nonceLength, macLength) = (Int(crypto_secretbox_NONCEBYTES), Int(crypto_secretbox_MACBYTES))
    guard sealed.count >= nonceLength + macLength else { return nil }
    let (nonce, box) = (Array(sealed.prefix(nonceLength)), Array(sealed.dropFirst(nonceLength)))
    var bytes = [UInt8](repeating: 0, count: box.count - macLength)
    guard crypto_secretbox_open_easy(&bytes, box, UInt64(box.count), nonce, sealingKey) == 0 else { return nil }
    return bytes
  }
}
