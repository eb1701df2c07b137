import CLockstepSodium
import LockstepStore

/// Seals what only who knows a password may open, and recognises a request with that password in it.
///
/// Both keys are derived from the password as slowly as its hash is. So whoever has the store can guess the password by
/// what is sealed, or by a fingerprint, no faster than by its hash; and without the password neither tells anything.
package struct PasswordSeal: Sendable, Redacted {
  private let sealingKey: [UInt8]
  private let fingerprintKey: [UInt8]

  /// - Parameters:
  ///   - password: The password.
  ///   - salt: What makes it another seal than that of the same password elsewhere: 16 bytes.
  ///   - hasher: What derives.
  /// - Throws: What the hasher throws.
  init(
    _ password: Password,
    salt: [UInt8],
    hasher: any PasswordHashing
  ) async throws(AccountsError) {
    let length = Int(crypto_secretbox_KEYBYTES)
    let derived = try await hasher.derive(2 * length, from: password, salt: salt)
    sealingKey = Array(derived.prefix(length))
    fingerprintKey = Array(derived.dropFirst(length))
  }

  /// What tells a request again, without telling what is in it.
  package func fingerprint(of request: [UInt8]) -> [UInt8] { DomainHash.of("sealed request", fingerprintKey, request) }

  /// The bytes, sealed: a nonce, and what libsodium's secret box makes of them.
  package func seal(_ bytes: [UInt8]) -> [UInt8] {
    var nonce = [UInt8](repeating: 0, count: Int(crypto_secretbox_NONCEBYTES))
    randombytes_buf(&nonce, nonce.count)
    var sealed = [UInt8](repeating: 0, count: bytes.count + Int(crypto_secretbox_MACBYTES))
    // It has no way to fail; the buffers have the lengths that it's told.
    crypto_secretbox_easy(&sealed, bytes, UInt64(bytes.count), nonce, sealingKey)
    return nonce + sealed
  }

  /// What was sealed; nil where it was under another password, or has been changed.
  package func open(_ sealed: [UInt8]) -> [UInt8]? {
    let (nonceLength, macLength) = (Int(crypto_secretbox_NONCEBYTES), Int(crypto_secretbox_MACBYTES))
    guard sealed.count >= nonceLength + macLength else { return nil }
    let (nonce, box) = (Array(sealed.prefix(nonceLength)), Array(sealed.dropFirst(nonceLength)))
    var bytes = [UInt8](repeating: 0, count: box.count - macLength)
    guard crypto_secretbox_open_easy(&bytes, box, UInt64(box.count), nonce, sealingKey) == 0 else { return nil }
    return bytes
  }
}
