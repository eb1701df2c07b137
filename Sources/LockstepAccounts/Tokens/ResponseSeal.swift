import CLockstepSodium
import LockstepStore

/// Encrypts a recorded response with a token, so that only a client that knows the secret of the request
/// can get it again.
package struct ResponseSeal: Sendable, Redacted {
  private let sealingKey: [UInt8]
  private let fingerprintKey: [UInt8]

  /// A seal with a password. Both keys are derived from it as slowly as its hash. So an attacker who
  /// has the store guesses no faster with sealed bytes and fingerprints than with the hash.
  ///
  /// The salt has 16 bytes, and must differ for each idempotency key.
  init(_ password: Password, salt: [UInt8], hasher: any PasswordHashing, for owner: HashingOwner)
    async throws(AccountsError)
  {
    let length = Int(crypto_secretbox_KEYBYTES)
    let derived = try await hasher.derive(2 * length, from: password, salt: salt, for: owner)
    sealingKey = Array(derived.prefix(length))
    fingerprintKey = Array(derived.dropFirst(length))
  }

  /// A seal with a secret that cannot be guessed, such as a token.
  package init(secret: [UInt8], key: String) {
    let key = Array(key.utf8)
    sealingKey = DomainHash.of("sealing key", secret, key, count: Int(crypto_secretbox_KEYBYTES))
    fingerprintKey = DomainHash.of("fingerprint key", secret, key)
  }

  /// A hash that is the same only for the same request, secret and salt or idempotency key.
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

  /// The bytes; nil if they were sealed with another secret, or `sealed` was changed.
  package func open(_ sealed: [UInt8]) -> [UInt8]? {
    let (nonceLength, macLength) = (Int(crypto_secretbox_NONCEBYTES), Int(crypto_secretbox_MACBYTES))
    guard sealed.count >= nonceLength + macLength else { return nil }
    let (nonce, box) = (Array(sealed.prefix(nonceLength)), Array(sealed.dropFirst(nonceLength)))
    var bytes = [UInt8](repeating: 0, count: box.count - macLength)
    guard crypto_secretbox_open_easy(&bytes, box, UInt64(box.count), nonce, sealingKey) == 0 else { return nil }
    return bytes
  }
}
