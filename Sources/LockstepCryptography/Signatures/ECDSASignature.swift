/// The two spellings of a signature of ECDSA on P-256.
enum ECDSASignature {
  /// DER, as libcrypto reads it, from r and s of 32 bytes each, as JOSE writes them. Nil for any
  /// other length. libcrypto checks the range of the numbers.
  static func der(fromRaw signature: [UInt8]) -> [UInt8]? {
    guard signature.count == 64 else { return nil }
    let numbers = integer(signature.prefix(32)) + integer(signature.suffix(32))
    // At most 70 bytes, so the length has one byte.
    return [0x30, UInt8(numbers.count)] + numbers
  }

  private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var bytes = Array(bytes.drop { $0 == 0 })
    // DER has signed numbers.
    if bytes.first.map({ $0 >= 0x80 }) ?? true { bytes.insert(0, at: 0) }
    return [0x02, UInt8(bytes.count)] + bytes
  }
}
