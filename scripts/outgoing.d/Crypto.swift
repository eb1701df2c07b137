// The parts of CryptoKit that docs/webhooks.md uses, on libsodium, so that its code runs here.

import CLockstepSodium
import Foundation

struct SymmetricKey {
  let bytes: [UInt8]

  init(data: Data) { bytes = Array(data) }
}

enum SHA256 {}

enum HMAC<Hash> {
  static func isValidAuthenticationCode(_ code: Data, authenticating message: Data, using key: SymmetricKey) -> Bool {
    var state = crypto_auth_hmacsha256_state()
    var expected = [UInt8](repeating: 0, count: 32)
    crypto_auth_hmacsha256_init(&state, key.bytes, key.bytes.count)
    crypto_auth_hmacsha256_update(&state, Array(message), UInt64(message.count))
    crypto_auth_hmacsha256_final(&state, &expected)
    return code.count == 32 && sodium_memcmp(expected, Array(code), 32) == 0
  }
}
