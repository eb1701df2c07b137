/// A JSON value (RFC 8259).
///
/// **Numbers keep their value.** An integer literal from `Int64.min` to `UInt64.max` is exact. A
/// literal with a fraction or an exponent, and `-0`, is the nearest IEEE double. A double is
/// written as the shortest text that parses as the same double.
///
/// **Equality compares values, not spelling.** Equal numbers are equal in every spelling, so `1 ==
/// 1.0` and `0 == -0.0`, as RFC 6902 requires for `test`. The comparison is exact: 9007199254740993
/// differs from the double 9007199254740992. Strings and names are equal if their UTF-8 bytes are
/// equal. So unlike in `String`, a composed `é` differs from a decomposed one. The order of members
/// does not matter. To compare spelling, compare `encoded()`.
///
/// **Depth.** Parsing bounds the depth of a value. Values of any depth can be built, measured,
/// written, compared and hashed, without recursion. But Swift releases nested arrays recursively,
/// with about 150 bytes of stack for each level. So release a value deeper than a few thousand
/// levels only on a large stack.
public enum JSON: Sendable {
  case null
  case bool(Bool)
  /// An integer that fits into `Int64`.
  case integer(Int64)
  /// An integer above `Int64.max`. A smaller value is allowed and equals the same `integer`.
  case unsigned(UInt64)
  /// A number with a fraction or an exponent, or `-0`. JSON has no infinity and no NaN: they are
  /// written as `null`.
  case double(Double)
  case string(String)
  case array([JSON])
  case object(JSONObject)

  /// An integer. If it does not fit into 64 bits, it becomes a double.
  public init(_ value: some FixedWidthInteger) {
    if let signed = Int64(exactly: value) {
      self = .integer(signed)
    } else if let unsigned = UInt64(exactly: value) {
      self = .unsigned(unsigned)
    } else {
      self = .double(Double(value))
    }
  }

  /// A double, or `null` if it is infinite or not a number.
  public init(_ value: Double) { self = value.isFinite ? .double(value) : .null }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// `nil` is `null`. But in `object["name"] = nil`, it is an absent `JSON?` and removes the
  /// member.
  public init(nilLiteral: ()) { self = .null }

  /// `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// An `Int64` literal. For a larger one write `.unsigned(…)`.
  public init(integerLiteral value: Int64) { self = .integer(value) }

  /// A literal with a fraction or an exponent.
  public init(floatLiteral value: Double) { self.init(value) }

  /// A string literal.
  public init(stringLiteral value: String) { self = .string(value) }

  /// An array literal.
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }

  /// A dictionary literal, with its members in order. The last value of a repeated name wins.
  public init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(JSONObject(elements))
  }
}
