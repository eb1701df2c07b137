import CLockstepSodium
import LockstepStore

/// The administrator token, as the operator has set it.
package struct AdministratorToken: Sendable, Redacted {
  private let hash: [UInt8]?

  /// With nil or an empty text there is no administrator.
  package init(_ text: String?) {
    hash = text.flatMap { $0.isEmpty ? nil : Self.hash($0.utf8) }
  }

  package var isSet: Bool { hash != nil }

  /// Compares in constant time.
  package func matches(_ token: some Sequence<UInt8>) -> Bool {
    guard let hash else { return false }
    return sodium_memcmp(Self.hash(token), hash, hash.count) == 0
  }

  private static func hash(_ token: some Sequence<UInt8>) -> [UInt8] {
    let bytes = Array(token)
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return digest
  }
}
