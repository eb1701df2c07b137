// The library's `init?(exactly:)` would do, but calls `trunc`, and so would tie every user to the C math library.

extension Int64 {
  /// The integer that a double is, or nil when it is none or `Int64` cannot hold it.
  init?(sameAs double: Double) {
    // Below 2^63 the conversion is defined; it drops the fraction, without which the double comes back. A NaN is
    // in no range.
    guard double >= -0x1p63, double < 0x1p63, Double(Int64(double)) == double else { return nil }
    self = Int64(double)
  }
}

extension UInt64 {
  /// The integer that a double is, or nil when it is none or `UInt64` cannot hold it.
  init?(sameAs double: Double) {
    guard double >= 0, double < 0x1p64, Double(UInt64(double)) == double else { return nil }
    self = UInt64(double)
  }
}
