import LockstepJSON
import LockstepTime

/// An issuer of tokens for tests: it has keys, publishes them and signs tokens.
package struct FakeIssuer: Sendable {
  package var url: String
  package var audience: String
  /// The published keys.
  package var keys: [TestKey]

  package init(
    url: String = "https://issuer.example",
    audience: String = "app",
    keys: [TestKey] = [.rsa, .ec, .ed25519]
  ) {
    (self.url, self.audience, self.keys) = (url, audience, keys)
  }

  /// The value of `--identity` for this issuer.
  package var option: String { "issuer=\(url),audience=\(audience)" }

  /// Where the issuer publishes its keys.
  package var keysURL: String { "\(url)/keys" }

  package var keySet: JSON { ["keys": .array(keys.map { .object($0.publicKey) })] }

  /// The response to `GET <url>/.well-known/openid-configuration`.
  package var discovery: JSON { ["issuer": .string(url), "jwks_uri": .string(keysURL)] }

  /// A token that is valid for an hour from `now`, with the given claims added or changed. A claim with the value nil
  /// is left out, and so is a member of `header`. Without `key`, the first published one signs.
  package func token(
    for subject: String = "user-1",
    now: Timestamp,
    claims: [String: JSON?] = [:],
    header: [String: JSON?] = [:],
    key: TestKey? = nil,
    algorithm: String? = nil
  ) -> String {
    guard let key = key ?? keys.first else { preconditionFailure("the issuer has no key") }
    let algorithm = algorithm ?? key.algorithm
    let seconds = now.millisecondsSince1970 / 1000
    let usual: JSONObject = [
      "iss": .string(url), "aud": .string(audience), "sub": .string(subject), "iat": .integer(seconds),
      "exp": .integer(seconds + 3600),
    ]
    let head: JSONObject = ["alg": .string(algorithm), "typ": "JWT", "kid": .string(key.id)]
    return Self.sign(
      header: JSON.object(Self.merged(head, header)).encoded(),
      payload: JSON.object(Self.merged(usual, claims)).encoded(),
      key: key,
      algorithm: algorithm
    )
  }

  /// Signs any bytes as the header and the payload of a token.
  package static func sign(header: [UInt8], payload: [UInt8], key: TestKey, algorithm: String) -> String {
    let signed = Base64Text.encode(header) + "." + Base64Text.encode(payload)
    return signed + "." + Base64Text.encode(key.sign(Array(signed.utf8), algorithm: algorithm))
  }

  private static func merged(_ members: JSONObject, _ changes: [String: JSON?]) -> JSONObject {
    var members = members
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) { members[name] = value }
    return members
  }
}

/// base64url without padding.
package enum Base64Text {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  package static func encode(_ bytes: [UInt8]) -> String {
    var (text, bits, count) = ([UInt8](), 0, 0)
    for byte in bytes {
      (bits, count) = (bits << 8 & 0xFFFF | Int(byte), count + 8)
      while count >= 6 {
        count -= 6
        text.append(alphabet[bits >> count & 63])
      }
    }
    if count > 0 { text.append(alphabet[bits << (6 - count) & 63]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// The text must be valid.
  package static func decode(_ text: String) -> [UInt8] {
    var (bytes, bits, count) = ([UInt8](), 0, 0)
    for byte in text.utf8 {
      guard let value = alphabet.firstIndex(of: byte) else { preconditionFailure("no base64url: \(text)") }
      (bits, count) = (bits << 6 & 0xFFFF | value, count + 6)
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return bytes
  }
}
