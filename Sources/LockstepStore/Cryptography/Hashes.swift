import CLockstepSodium

/// Hashes that include a purpose. The same bytes, hashed for two purposes, give different hashes.
package enum DomainHash {
  /// A BLAKE2b hash of `count` bytes, 16 to 64. Each part is hashed with its length, so that
  /// different lists of parts give different hashes.
  package static func of(_ purpose: String, _ parts: [UInt8]..., count: Int = 32) -> [UInt8] {
    of(purpose, parts: parts, count: count)
  }

  static func of(_ purpose: String, parts: [[UInt8]], count: Int) -> [UInt8] {
    var bytes = Array("lockstep \(purpose) ".utf8)
    for part in parts { bytes += Array("\(part.count) ".utf8) + part }
    return blake2b(bytes, count: count)
  }
}

/// A short digest of bytes. Different bytes give different digests.
package enum Digest {
  /// `d` and 24 hexadecimal digits.
  package static func text(of bytes: [UInt8]) -> String { text(ofHash: blake2b(bytes, count: length)) }

  /// The digest of the arrays' bytes, one array after the other.
  package static func text(of arrays: some Sequence<[UInt8]>) -> String {
    var digest = [UInt8](repeating: 0, count: length)
    // libsodium's type for a hash under way has an alignment that Swift cannot import.
    withUnsafeTemporaryAllocation(byteCount: crypto_generichash_statebytes(), alignment: 64) { memory in
      guard let state = memory.baseAddress.map({ OpaquePointer($0) }) else { return }
      crypto_generichash_init(state, nil, 0, length)
      for bytes in arrays { crypto_generichash_update(state, bytes, UInt64(bytes.count)) }
      crypto_generichash_final(state, &digest, length)
    }
    return text(ofHash: digest)
  }

  private static let length = 16

  private static func text(ofHash hash: [UInt8]) -> String { "d" + hexadecimal(Array(hash.prefix(12))) }
}

/// The SHA-256 of a text in 64 hexadecimal digits, as `sha256sum` prints it.
func checksum(of text: String) -> String { hexadecimal(sha256(Array(text.utf8))) }

package func sha256(_ bytes: [UInt8]) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
  // Cannot fail, and does not need `sodium_init`.
  crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
  return digest
}

/// Two lower-case digits for each byte.
package func hexadecimal(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

private func blake2b(_ bytes: [UInt8], count: Int) -> [UInt8] {
  var digest = [UInt8](repeating: 0, count: count)
  // Fails only for lengths outside 16 to 64.
  crypto_generichash(&digest, digest.count, bytes, UInt64(bytes.count), nil, 0)
  return digest
}
