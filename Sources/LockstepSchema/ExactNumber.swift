import LockstepJSON

/// A number of JSON that compares exactly with all others.
enum ExactNumber: Sendable {
  case signed(Int64)
  /// Above `Int64.max`.
  case unsigned(UInt64)
  /// Finite.
  case double(Double)

  /// Nil for a value that is not a number, and for infinity and NaN.
  init?(_ value: JSON) {
    switch value {
    case .integer(let integer): self = .signed(integer)
    case .unsigned(let unsigned): self = Int64(exactly: unsigned).map(Self.signed) ?? .unsigned(unsigned)
    case .double(let double) where double.isFinite: self = .double(double)
    default: return nil
    }
  }

  var json: JSON {
    switch self {
    case .signed(let integer): .integer(integer)
    case .unsigned(let integer): .unsigned(integer)
    case .double(let double): .double(double)
    }
  }

  static func < (left: ExactNumber, right: ExactNumber) -> Bool { left.compared(to: right) < 0 }
  static func <= (left: ExactNumber, right: ExactNumber) -> Bool { left.compared(to: right) <= 0 }

  /// Whether this is a whole number of times the divisor, which is greater than zero.
  func isMultiple(of divisor: ExactNumber) -> Bool {
    if case (.signed(let number), .signed(let divisor)) = (self, divisor) {
      return number.isMultiple(of: divisor)
    }
    return DecimalMagnitude(self).isMultiple(of: DecimalMagnitude(divisor))
  }

  /// Less than zero, zero, or greater than zero.
  private func compared(to other: ExactNumber) -> Int {
    switch (self, other) {
    case (.signed(let left), .signed(let right)): order(left, right)
    case (.unsigned(let left), .unsigned(let right)): order(left, right)
    case (.double(let left), .double(let right)): order(left, right)
    case (.signed, .unsigned): -1
    case (.unsigned, .signed): 1
    case (.double(let left), .signed(let right)): order(left, integer: right, range: -0x1p63..<0x1p63)
    case (.double(let left), .unsigned(let right)): order(left, integer: right, range: 0..<0x1p64)
    case (.signed, .double), (.unsigned, .double): -other.compared(to: self)
    }
  }
}

private func order<Number: Comparable>(_ left: Number, _ right: Number) -> Int {
  left < right ? -1 : left == right ? 0 : 1
}

/// Compares a double with an integer. All doubles in the range convert to the integer's type.
private func order<Integer: FixedWidthInteger>(_ left: Double, integer right: Integer, range: Range<Double>) -> Int {
  guard left >= range.lowerBound else { return -1 }
  guard left < range.upperBound else { return 1 }
  let whole = Integer(left)
  // The conversion drops the fraction, so the whole part is also a double.
  return whole == right ? order(left, Double(whole)) : order(whole, right)
}

/// The magnitude of a number as `digits × 10^exponent`, for exact division.
///
/// A double stands for its shortest decimal text, so that 0.3 is a multiple of 0.1.
struct DecimalMagnitude: Sendable {
  private(set) var digits: UInt64
  private(set) var exponent: Int

  init(_ number: ExactNumber) {
    switch number {
    case .signed(let integer): (digits, exponent) = (integer.magnitude, 0)
    case .unsigned(let integer): (digits, exponent) = (integer, 0)
    case .double(let double):
      (digits, exponent) = (0, 0)
      read(double.magnitude.description)
    }
  }

  /// Reads the text of a double. It has at most 17 digits that count, which fit into `digits`.
  private mutating func read(_ text: String) {
    var (fraction, power, isNegative) = (0, 0, false)
    var part = Part.whole
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "."): part = .fraction
      case UInt8(ascii: "e"): part = .power
      case UInt8(ascii: "-"): isNegative = true
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let digit = byte &- UInt8(ascii: "0")
        if part == .power {
          power = power * 10 + Int(digit)
        } else {
          digits = digits &* 10 &+ UInt64(digit)
          fraction += part == .fraction ? 1 : 0
        }
      default: continue
      }
    }
    exponent = (isNegative ? -power : power) - fraction
    while digits > 0, digits.isMultiple(of: 10) {
      digits /= 10
      exponent += 1
    }
  }

  private enum Part { case whole, fraction, power }

  /// Whether this is a whole number of times the divisor, which is not zero. Exact, and takes at most
  /// a few multiplications for each bit of the exponent.
  func isMultiple(of divisor: DecimalMagnitude) -> Bool {
    guard digits != 0 else { return true }
    let shift = exponent - divisor.exponent
    guard shift < 0 else {
      // Multiplies modulo the divisor's digits. Only the remainder counts.
      let modulus = divisor.digits
      return multiply(digits % modulus, power(of: 10, shift, modulo: modulus), modulo: modulus) == 0
    }
    // 10^20 is greater than all digits.
    guard shift > -20 else { return false }
    var scaled = divisor.digits
    for _ in 0 ..< -shift {
      let (product, overflows) = scaled.multipliedReportingOverflow(by: 10)
      guard !overflows, product <= digits else { return false }
      scaled = product
    }
    return digits.isMultiple(of: scaled)
  }

  private func power(of base: UInt64, _ exponent: Int, modulo modulus: UInt64) -> UInt64 {
    var (result, square, rest) = (1 % modulus, base % modulus, exponent)
    while rest > 0 {
      if rest & 1 == 1 { result = multiply(result, square, modulo: modulus) }
      square = multiply(square, square, modulo: modulus)
      rest >>= 1
    }
    return result
  }

  /// - Precondition: One factor is less than the modulus, so the quotient fits into 64 bits.
  private func multiply(_ left: UInt64, _ right: UInt64, modulo modulus: UInt64) -> UInt64 {
    modulus.dividingFullWidth(left.multipliedFullWidth(by: right)).remainder
  }
}
