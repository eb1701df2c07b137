import CLockstepSodium

/// BLAKE2b of what is named, so that hashes that serve different ends are never the same.
package enum DomainHash {
  /// 32 bytes, or as many as are asked for, from 16 to 64. Every part is told by its length, so that no two lists of parts
  /// run into the same bytes.
  package static func of(_ purpose: String, _ parts: [UInt8]..., count: Int = 32) -> [UInt8] {
    var bytes = Array("lockstep \(purpose) ".utf8)
    for part in parts { bytes += Array("\(part.count) ".utf8) + part }
    var digest = [UInt8](repeating: 0, count: count)
    // It fails only for lengths that it doesn't know.
    crypto_generichash(&digest, digest.count, bytes, UInt64(bytes.count), nil, 0)
    return digest
  }
}
