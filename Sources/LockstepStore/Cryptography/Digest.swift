import CLockstepSodium

/// A short digest that tells bytes apart.
package enum Digest {
  /// `d` and 24 hexadecimal digits.
  package static func text(of bytes: [UInt8]) -> String {
    var digest = [UInt8](repeating: 0, count: 16)
    // It fails only for lengths that it doesn't know; 16 is its least.
    crypto_generichash(&digest, digest.count, bytes, UInt64(bytes.count), nil, 0)
    return "d" + hexadecimal(Array(digest.prefix(12)))
  }
}
