// The standard library's `init?(exactly:)` calls `trunc`, which would link the C math library.

extension Int64 {
  init?(sameAs double: Double) {
    // Below 2^63 the conversion is defined and drops the fraction. NaN fails the comparison.
    guard double >= -0x1p63, double < 0x1p63, Double(Int64(double)) == double else { return nil }
    self = Int64(double)
  }
}

extension UInt64 {
  init?(sameAs double: Double) {
    guard double >= 0, double < 0x1p64, Double(UInt64(double)) == double else { return nil }
    self = UInt64(double)
  }
}
