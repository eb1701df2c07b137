extension JSONParser {
  mutating func parseNumber() throws(ParseFault) -> JSON {
    let start = position
    let isNegative = bytes[position] == Ascii.minus
    if isNegative {
      position &+= 1
      guard position < count, Ascii.isDigit(bytes[position]) else { throw fault(problemAfterMinus()) }
    }
    let firstDigit = position
    var digits: UInt64 = 0
    skipDigits(into: &digits)
    let integerDigits = position &- firstDigit
    if integerDigits > 1, bytes[firstDigit] == Ascii.zero {
      throw ParseFault(problem: .leadingZero, offset: firstDigit)
    }
    guard position < count, isPointOrExponent(bytes[position]) else {
      return try makeInteger(digits, from: firstDigit, count: integerDigits, isNegative: isNegative, start: start)
    }
    let fractionDigits = try parseFraction(into: &digits)
    let exponent = try parseExponent()
    return try makeDouble(
      digits,
      count: integerDigits &+ fractionDigits,
      exponent: exponent &- fractionDigits,
      isNegative: isNegative,
      start: start
    )
  }

  /// Appends decimal digits to a number. The caller checks whether the number has wrapped around.
  @inline(__always)
  private mutating func skipDigits(into digits: inout UInt64) {
    var place = position
    var value = digits
    while place < count, Ascii.isDigit(bytes[place]) {
      value = value &* 10 &+ UInt64(bytes[place] &- Ascii.zero)
      place &+= 1
    }
    position = place
    digits = value
  }

  @inline(__always)
  private func isPointOrExponent(_ byte: UInt8) -> Bool {
    byte == Ascii.point || byte | 0x20 == Ascii.letter("e")
  }

  private func problemAfterMinus() -> ParseProblem {
    guard position < count else { return .missingDigit }
    return bytes[position] == Ascii.letter("I") || bytes[position] == Ascii.letter("N") ? .infinityOrNaN : .missingDigit
  }

  /// Parses the fraction, if there is one, and returns the number of its digits.
  @inline(__always)
  private mutating func parseFraction(into digits: inout UInt64) throws(ParseFault) -> Int {
    guard bytes[position] == Ascii.point else { return 0 }
    position &+= 1
    let first = position
    skipDigits(into: &digits)
    guard position > first else { throw fault(.missingFractionDigit) }
    return position &- first
  }

  /// Parses the exponent, if there is one, clamped to ±1,000,000,000.
  @inline(__always)
  private mutating func parseExponent() throws(ParseFault) -> Int {
    guard position < count, bytes[position] | 0x20 == Ascii.letter("e") else { return 0 }
    position &+= 1
    var isNegative = false
    if position < count, bytes[position] == Ascii.minus || bytes[position] == Ascii.plus {
      isNegative = bytes[position] == Ascii.minus
      position &+= 1
    }
    let first = position
    var exponent = 0
    while position < count, Ascii.isDigit(bytes[position]) {
      exponent = min(exponent &* 10 &+ Int(bytes[position] &- Ascii.zero), 1_000_000_000)
      position &+= 1
    }
    guard position > first else { throw fault(.missingExponentDigit) }
    return isNegative ? -exponent : exponent
  }

  /// The integer of these digits. If there are more than 19, `digits` may have wrapped around.
  @inline(__always)
  private func makeInteger(
    _ digits: UInt64,
    from firstDigit: Int,
    count digitCount: Int,
    isNegative: Bool,
    start: Int
  ) throws(ParseFault) -> JSON {
    // 19 nines are less than 2^64. For 20 digits, a leading 1 and a value of at least 10^19 prove
    // that nothing wrapped: above 2^64, the wrapped value of 1… is less than 1.6 × 10^18.
    let isExact =
      digitCount <= 19
      || digitCount == 20 && bytes[firstDigit] == Ascii.zero &+ 1 && digits >= 10_000_000_000_000_000_000
    guard isExact else { throw ParseFault(problem: .integerOutOfRange, offset: start) }
    // `-0` is a double, because no integer is negative zero.
    if isNegative, digits == 0 { return .double(-0.0) }
    if !isNegative {
      return digits <= UInt64(Int64.max) ? .integer(Int64(bitPattern: digits)) : .unsigned(digits)
    }
    guard digits <= Int64.min.magnitude else { throw ParseFault(problem: .integerOutOfRange, offset: start) }
    return .integer(Int64(bitPattern: 0 &- digits))
  }

  /// The nearest double to `digits × 10^exponent`. Digits up to 2^53 and powers of ten up to 22 are
  /// exact doubles, so one multiplication or division rounds once (Clinger).
  @inline(__always)
  private func makeDouble(
    _ digits: UInt64,
    count digitCount: Int,
    exponent: Int,
    isNegative: Bool,
    start: Int
  ) throws(ParseFault) -> JSON {
    if digitCount <= 19, digits <= 1 << 53, exponent >= -22, exponent <= 22 {
      let magnitude = Double(digits)
      let power = exactPowersOfTen[abs(exponent)]
      let value = exponent < 0 ? magnitude / power : magnitude * power
      return .double(isNegative ? -value : value)
    }
    return .double(try parseDoubleBySwift(start: start))
  }

  /// Swift's conversion is correctly rounded, takes linear time, and accepts all of JSON's grammar.
  private func parseDoubleBySwift(start: Int) throws(ParseFault) -> Double {
    let literal = UnsafeBufferPointer(start: bytes + start, count: position - start)
    guard let value = Double(String(decoding: literal, as: UTF8.self)), value.isFinite else {
      throw ParseFault(problem: .doubleTooLarge, offset: start)
    }
    if value == 0, Self.hasNonzeroDigit(literal) { throw ParseFault(problem: .doubleTooSmall, offset: start) }
    return value
  }

  private static func hasNonzeroDigit(_ literal: UnsafeBufferPointer<UInt8>) -> Bool {
    for byte in literal {
      if byte | 0x20 == Ascii.letter("e") { return false }
      if Ascii.isDigit(byte), byte != Ascii.zero { return true }
    }
    return false
  }
}

/// 10^0 to 10^22, all exact.
private let exactPowersOfTen: [Double] = [
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
  1e20, 1e21, 1e22,
]
