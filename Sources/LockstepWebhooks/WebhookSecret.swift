import CLockstepSodium

/// Why a text is no secret.
package struct WebhookSecretError: Error, Equatable, CustomStringConvertible {
  package var description: String {
    "A secret must be whsec_ and the base64 of 24 to 64 bytes, with padding. Without a secret, a new webhook gets one, and an existing webhook keeps its secret."
  }
}

/// The secret that a server and the receiver of its webhooks share (Standard Webhooks):
/// `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`. Its descriptions do not show it.
package struct WebhookSecret: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  private static let prefix = "whsec_"
  private static let lengths = 24...64

  private let key: [UInt8]

  /// A new secret of 32 random bytes. libsodium must be initialised.
  package static func make() -> WebhookSecret {
    var key = [UInt8](repeating: 0, count: 32)
    randombytes_buf(&key, key.count)
    return WebhookSecret(key: key)
  }

  private init(key: [UInt8]) { self.key = key }

  package init(_ text: String) throws(WebhookSecretError) {
    guard text.hasPrefix(Self.prefix), text.utf8.count <= 128,
      let key = Base64.decoded(text.dropFirst(Self.prefix.count)), Self.lengths.contains(key.count)
    else { throw WebhookSecretError() }
    self.key = key
  }

  /// The secret itself, for the response that shows it and for the store.
  package var text: String { Self.prefix + Base64.text(key) }

  package var description: String { Self.prefix + "…" }

  /// A mirror that shows nothing.
  package var customMirror: Mirror { Mirror(self, children: [:]) }

  /// HMAC-SHA256.
  func authenticationCode(of message: [UInt8]) -> [UInt8] {
    var state = crypto_auth_hmacsha256_state()
    var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
    // These calls cannot fail, and do not need `sodium_init`.
    crypto_auth_hmacsha256_init(&state, key, key.count)
    crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
    crypto_auth_hmacsha256_final(&state, &code)
    return code
  }
}

/// base64 with padding (RFC 4648, 4).
enum Base64 {
  private static let variant = Int32(sodium_base64_VARIANT_ORIGINAL)

  static func text(_ bytes: [UInt8]) -> String {
    var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
    sodium_bin2base64(&text, text.count, bytes, bytes.count, variant)
    // The last character is the zero byte.
    return String(decoding: text.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Nil if the text is not the one spelling of some bytes.
  static func decoded(_ text: Substring) -> [UInt8]? {
    var (bytes, count) = ([UInt8](repeating: 0, count: text.utf8.count), 0)
    let characters = text.utf8.map { CChar(bitPattern: $0) }
    // A null end pointer makes libsodium refuse text with other characters.
    guard sodium_base642bin(&bytes, bytes.count, characters, characters.count, nil, &count, nil, variant) == 0 else {
      return nil
    }
    return Array(bytes.prefix(count))
  }
}
