import CLockstepSodium
import LockstepStore

/// A session's token: `ls_`, 8 hexadecimal digits, `_`, and 64 characters of base64url. It never
/// appears in logs or errors.
///
/// The characters contain a secret of 256 random bits and an authentication tag of 128 bits
/// (`TokenIssuer`). The digits are the same in all tokens of a user, so that a load balancer can send
/// all requests of a user to the same server. Tokens of earlier versions have no digits and no second
/// `_`, and neither have service tokens, which begin with `lsa_`.
public struct Token: Sendable, Equatable, Redacted {
  /// The prefix by which people and scanners for leaked secrets recognise a token.
  static let prefix = Array("ls_".utf8)
  static let servicePrefix = Array("lsa_".utf8)
  private static let prefixCount = 3
  private static let secretCount = 64

  let secret: SIMD4<UInt64>
  let tag: SIMD2<UInt64>
  /// Stands for the user; nil in service tokens and in those of earlier versions.
  let userDigits: HexadecimalDigits?

  init(secret: SIMD4<UInt64>, tag: SIMD2<UInt64>, userDigits: HexadecimalDigits? = nil) {
    self.secret = secret
    self.tag = tag
    self.userDigits = userDigits
  }

  /// Parses a token; nil if the text has another form. Allocates nothing.
  package init?(_ text: UnsafeRawBufferPointer) {
    let start = text.count - Self.secretCount
    // Each request comes here. To compare with the array takes longer.
    guard start >= Self.prefixCount, text[0] == UInt8(ascii: "l"), text[1] == UInt8(ascii: "s"),
      text[2] == UInt8(ascii: "_")
    else { return nil }
    var digits: HexadecimalDigits?
    if start != Self.prefixCount {
      guard start == Self.prefixCount + HexadecimalDigits.count + 1, text[start - 1] == UInt8(ascii: "_"),
        let read = HexadecimalDigits(text, at: Self.prefixCount)
      else { return nil }
      digits = read
    }
    self.init(secretAndTag: UnsafeRawBufferPointer(rebasing: text[start...]), digits)
  }

  /// Parses a service token; nil if the text has another form.
  init?(service text: UnsafeRawBufferPointer) {
    guard text.starts(with: Self.servicePrefix) else { return nil }
    self.init(secretAndTag: UnsafeRawBufferPointer(rebasing: text[Self.servicePrefix.count...]), nil)
  }

  private init?(secretAndTag: UnsafeRawBufferPointer, _ userDigits: HexadecimalDigits?) {
    // Eight characters are 48 bits; four such groups are three words.
    guard let groups = Base64URL.decode64(secretAndTag) else { return nil }
    let (first, second) = (Self.words(groups.lowHalf), Self.words(groups.highHalf))
    self.init(
      secret: SIMD4(first.0, first.1, first.2, second.0),
      tag: SIMD2(second.1, second.2),
      userDigits: userDigits
    )
  }

  private static func words(_ groups: SIMD4<UInt64>) -> (UInt64, UInt64, UInt64) {
    (groups.x << 16 | groups.y >> 32, groups.y << 32 | groups.z >> 16, groups.z << 48 | groups.w)
  }

  /// The token as text, for the one response that contains it.
  public var text: String { text(after: Self.prefix + (userDigits.map { $0.text + [UInt8(ascii: "_")] } ?? [])) }

  /// The service token as text.
  var serviceText: String { text(after: Self.servicePrefix) }

  private func text(after prefix: [UInt8]) -> String {
    let words = [secret.x, secret.y, secret.z, secret.w, tag.x, tag.y]
    return String(decoding: prefix + Base64URL.encode(words), as: UTF8.self)
  }

  /// The store contains this hash instead of the token.
  var hash: TokenHash {
    let bits = lockstep_bits384(words: (secret.x, secret.y, secret.z, secret.w, tag.x, tag.y))
    let words = lockstep_digest(bits, HexadecimalDigits.bits(userDigits)).words
    return TokenHash(words: SIMD4(words.0, words.1, words.2, words.3))
  }
}

/// Eight lower-case hexadecimal digits.
struct HexadecimalDigits: Sendable, Equatable {
  static let count = 8

  let value: UInt32

  init(_ value: UInt32) {
    self.value = value
  }

  /// Reads the digits at an offset, all at once; nil if one is something else. There must be 8 bytes.
  init?(_ text: UnsafeRawBufferPointer, at offset: Int) {
    // The first digit is in the highest byte.
    let bytes = UInt64(bigEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    let ones: UInt64 = 0x0101_0101_0101_0101
    // Bit 6 distinguishes a to f from 0 to 9. No sum of two bytes exceeds a byte.
    let isLetter = bytes >> 6 & ones
    let digits = (bytes & 0x0F0F_0F0F_0F0F_0F0F) &+ 9 &* isLetter
    let isAboveNine = (digits &+ 6 &* ones) >> 4 & ones
    let expected = digits &+ UInt64(UInt8(ascii: "0")) &* ones &+ 39 &* isAboveNine
    guard digits & 0xF0F0_F0F0_F0F0_F0F0 == 0, bytes == expected else { return nil }
    let pairs = (digits | digits >> 4) & 0x00FF_00FF_00FF_00FF
    let quads = (pairs | pairs >> 8) & 0x0000_FFFF_0000_FFFF
    value = UInt32(truncatingIfNeeded: quads | quads >> 16)
  }

  var text: [UInt8] {
    let digits = Array("0123456789abcdef".utf8)
    return (0..<Self.count).map { digits[Int(value >> UInt32(28 - 4 * $0) & 15)] }
  }

  /// The digits as hashes include them.
  static func bits(_ digits: HexadecimalDigits?) -> lockstep_digits {
    lockstep_digits(value: digits?.value ?? 0, exist: digits == nil ? 0 : 1)
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
