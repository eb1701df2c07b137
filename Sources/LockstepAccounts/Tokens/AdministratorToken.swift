import CLockstepSodium
import LockstepStore

/// The administrator token, as the operator has set it.
package struct AdministratorToken: Sendable, Redacted {
  private let hash: [UInt8]?

  /// With nil or an empty text there is no administrator.
  package init(_ text: String?) {
    hash = text.flatMap { $0.isEmpty ? nil : sha256(Array($0.utf8)) }
  }

  package var isSet: Bool { hash != nil }

  /// Compares in constant time.
  package func matches(_ token: some Sequence<UInt8>) -> Bool {
    guard let hash else { return false }
    return sodium_memcmp(sha256(Array(token)), hash, hash.count) == 0
  }
}
