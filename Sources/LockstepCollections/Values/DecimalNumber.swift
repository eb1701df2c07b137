/// An exact decimal number, for money and other amounts that must not be rounded.
///
/// It has at most 15 digits before the point and 18 after it. In JSON it is a string, such as
/// `"12.5"`, because most programs read a JSON number as a binary fraction, which cannot represent
/// 0.1 exactly. `"12.50"` is the same number, and is stored as `"12.5"`.
public struct DecimalNumber: Sendable, Hashable, Comparable, ExpressibleByIntegerLiteral, CustomStringConvertible {
  /// The number times 10^18.
  private let scaled: Int128

  private static let fractionDigits = 18
  private static let wholeDigits = 15
  private static let one: Int128 = 1_000_000_000_000_000_000
  /// 10^15, the smallest whole number that is too large, scaled.
  private static let bound = one * 1_000_000_000_000_000

  private init(scaled: Int128) { self.scaled = scaled }

  /// A whole number. If it has more than 15 digits, it is `isTooLarge`.
  public init(_ whole: Int) { scaled = Int128(whole) * Self.one }

  /// A whole number.
  public init(integerLiteral whole: Int) { self.init(whole) }

  /// Parses a number such as `12`, `-0.5` or `12.50`. Nil for other texts, such as `.5`, `+1`, `1e3` and
  /// `007`, and for numbers with too many digits.
  public init?(_ text: String) {
    var (whole, fraction): (Int64, Int64) = (0, 0)
    // The digits after the point; nil before it.
    var (wholeCount, fractionCount): (Int, Int?) = (0, nil)
    var (isNegative, hasLeadingZero) = (false, false)
    for (place, byte) in text.utf8.enumerated() {
      switch byte {
      case UInt8(ascii: "-") where place == 0: isNegative = true
      case UInt8(ascii: ".") where fractionCount == nil && wholeCount > 0: fractionCount = 0
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let digit = Int64(byte - UInt8(ascii: "0"))
        if let count = fractionCount {
          guard count < Self.fractionDigits else { return nil }
          fraction = fraction * 10 + digit
          fractionCount = count + 1
        } else {
          guard wholeCount < Self.wholeDigits, !hasLeadingZero else { return nil }
          hasLeadingZero = wholeCount == 0 && digit == 0
          whole = whole * 10 + digit
          wholeCount += 1
        }
      default: return nil
      }
    }
    guard wholeCount > 0, fractionCount != 0 else { return nil }
    for _ in (fractionCount ?? 0)..<Self.fractionDigits { fraction *= 10 }
    let magnitude = Int128(whole) * Self.one + Int128(fraction)
    scaled = isNegative ? -magnitude : magnitude
  }

  /// Whether the number has more than 15 digits before the point, which only arithmetic can cause. Such
  /// a number cannot be stored.
  public var isTooLarge: Bool { scaled.magnitude >= Self.bound.magnitude }

  /// The number without zeros at the end: `12.5`, not `12.50`.
  public var description: String {
    let (whole, rest) = scaled.magnitude.quotientAndRemainder(dividingBy: Self.one.magnitude)
    let sign = scaled < 0 ? "-" : ""
    // Texts of 64-bit numbers are made much faster. Only a number that is too large has more bits.
    let start = sign + (UInt64(exactly: whole).map { String($0) } ?? String(whole))
    if rest == 0 { return start }
    var (fraction, count) = (UInt64(rest), Self.fractionDigits)
    while fraction % 10 == 0 { (fraction, count) = (fraction / 10, count - 1) }
    let digits = String(fraction)
    return start + "." + String(repeating: "0", count: count - digits.utf8.count) + digits
  }

  /// The nearest binary fraction, for charts and other uses where a small error does not matter.
  public var doubleValue: Double { Double(scaled) / Double(Self.one) }

  /// Compares the values.
  public static func < (left: DecimalNumber, right: DecimalNumber) -> Bool { left.scaled < right.scaled }

  /// The exact sum.
  public static func + (left: DecimalNumber, right: DecimalNumber) -> DecimalNumber {
    let (sum, isOverflow) = left.scaled.addingReportingOverflow(right.scaled)
    return DecimalNumber(scaled: isOverflow ? left.scaled < 0 ? .min + 1 : .max : sum)
  }

  /// The exact difference.
  public static func - (left: DecimalNumber, right: DecimalNumber) -> DecimalNumber { left + -right }

  /// The exact product with a whole number.
  public static func * (left: DecimalNumber, right: Int) -> DecimalNumber {
    let (product, isOverflow) = left.scaled.multipliedReportingOverflow(by: Int128(right))
    return DecimalNumber(scaled: isOverflow ? (left.scaled < 0) == (right < 0) ? .max : .min + 1 : product)
  }

  /// The number with the other sign.
  public static prefix func - (number: DecimalNumber) -> DecimalNumber { DecimalNumber(scaled: -number.scaled) }

  /// Adds to the number.
  public static func += (left: inout DecimalNumber, right: DecimalNumber) { left = left + right }

  /// Subtracts from the number.
  public static func -= (left: inout DecimalNumber, right: DecimalNumber) { left = left - right }

  package static let fault =
    "It must be a decimal number in a string, such as \"12.50\", with at most 15 digits before the point and 18 after "
    + "it."
  package static let pattern = #"^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,18})?$"#
}

/// As a string.
extension DecimalNumber: Codable {
  /// Reads a number. Throws a `DecodingError` if the text is not one.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let number = DecimalNumber(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: Self.fault)
    }
    self = number
  }

  /// Writes the number. Throws an `EncodingError` if it is too large.
  public func encode(to encoder: any Encoder) throws {
    if isTooLarge {
      let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "It is too large.")
      throw EncodingError.invalidValue(self, context)
    }
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
