import CLockstepSodium
import LockstepStore

/// A session's token: `ls_` and 64 characters of base64url. A service token begins with `lsa_`. It
/// never appears in logs or errors.
///
/// It contains a secret of 256 random bits and an authentication tag of 128 bits (`TokenIssuer`).
package struct Token: Sendable, Equatable, Redacted {
  /// The prefix by which people and scanners for leaked secrets recognise a token.
  static let prefix = Array("ls_".utf8)
  static let servicePrefix = Array("lsa_".utf8)
  static let byteCount = prefix.count + 64

  let secret: SIMD4<UInt64>
  let tag: SIMD2<UInt64>

  init(secret: SIMD4<UInt64>, tag: SIMD2<UInt64>) {
    self.secret = secret
    self.tag = tag
  }

  /// Parses a token; nil if the text has another form. Allocates nothing.
  package init?(_ text: UnsafeRawBufferPointer) {
    guard text.count == Self.byteCount, text.starts(with: Self.prefix) else { return nil }
    self.init(secretAndTag: UnsafeRawBufferPointer(rebasing: text[Self.prefix.count...]))
  }

  /// Parses a service token; nil if the text has another form.
  init?(service text: UnsafeRawBufferPointer) {
    guard text.starts(with: Self.servicePrefix) else { return nil }
    self.init(secretAndTag: UnsafeRawBufferPointer(rebasing: text[Self.servicePrefix.count...]))
  }

  private init?(secretAndTag: UnsafeRawBufferPointer) {
    // Eight characters are 48 bits; four such groups are three words.
    guard let groups = Base64URL.decode64(secretAndTag) else { return nil }
    let (first, second) = (Self.words(groups.lowHalf), Self.words(groups.highHalf))
    self.init(secret: SIMD4(first.0, first.1, first.2, second.0), tag: SIMD2(second.1, second.2))
  }

  private static func words(_ groups: SIMD4<UInt64>) -> (UInt64, UInt64, UInt64) {
    (groups.x << 16 | groups.y >> 32, groups.y << 32 | groups.z >> 16, groups.z << 48 | groups.w)
  }

  /// The token as text, for the one response that contains it.
  package var text: String { text(after: Self.prefix) }

  /// The service token as text.
  var serviceText: String { text(after: Self.servicePrefix) }

  private func text(after prefix: [UInt8]) -> String {
    let words = [secret.x, secret.y, secret.z, secret.w, tag.x, tag.y]
    return String(decoding: prefix + Base64URL.encode(words), as: UTF8.self)
  }

  /// The store contains this hash instead of the token.
  var hash: TokenHash {
    let bits = lockstep_bits384(words: (secret.x, secret.y, secret.z, secret.w, tag.x, tag.y))
    let words = lockstep_digest(bits).words
    return TokenHash(words: SIMD4(words.0, words.1, words.2, words.3))
  }
}

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
