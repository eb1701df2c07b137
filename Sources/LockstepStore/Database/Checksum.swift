import CLockstepSodium

/// What `sha256sum` says of a text: 64 hexadecimal digits.
func checksum(of text: String) -> String {
  var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
  let bytes = Array(text.utf8)
  // It has no way to fail, and needs no `sodium_init`: there is nothing random or machine-dependent in it.
  crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
  return hexadecimal(digest)
}

/// Two lower-case digits a byte.
package func hexadecimal(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
