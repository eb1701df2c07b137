import CLockstepSodium
import LockstepStore

/// The administrator's token, as the operator has set it.
package struct AdministratorToken: Sendable, Redacted {
  private let hash: [UInt8]?

  /// Nil or empty: there is no administrator.
  package init(_ text: String?) {
    hash = text.flatMap { $0.isEmpty ? nil : Self.hash($0.utf8) }
  }

  /// Whether the operator has set a token.
  package var isSet: Bool { hash != nil }

  /// Compares in equal time, wherever the two differ.
  package func matches(_ token: some Sequence<UInt8>) -> Bool {
    guard let hash else { return false }
    return sodium_memcmp(Self.hash(token), hash, hash.count) == 0
  }

  private static func hash(_ token: some Sequence<UInt8>) -> [UInt8] {
    let bytes = Array(token)
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    // It has no way to fail.
    crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return digest
  }
}
