/// A JSON value (RFC 8259).
///
/// **Numbers keep their value.** An integer literal from `Int64.min` to `UInt64.max` is held exactly;
/// a literal with a fraction or an exponent, and `-0`, which is no integer, is the nearest IEEE double, and is
/// written again as the shortest text that reads back as the same double.
///
/// **Equality is of values, not of spelling.** Two numbers are equal when they are the same
/// number, so `1 == 1.0` and `0 == -0.0`, as RFC 6902 asks of its `test`; the comparison is exact, so
/// 9007199254740993 differs from the double 9007199254740992. Strings and names are equal when they
/// have the same bytes in UTF-8; unlike `String`, a composed `é` differs from a decomposed one.
/// Objects are equal whatever the order of their members. Where spelling matters, compare `encoded()`.
///
/// **Depth.** A parsed value is at most as deep as its `JSONLimits`. A value built by code may be as
/// deep as it likes to be measured, written, compared and hashed, none of which recurses with the
/// depth of the value; but Swift itself frees nested arrays recursively, some 150 bytes of stack
/// a level, so let go of a value deeper than a few thousand levels only where the stack is large.
public enum JSON: Sendable {
  /// The literal `null`.
  case null
  /// The literal `true` or `false`.
  case bool(Bool)
  /// An integer that `Int64` can hold.
  case integer(Int64)
  /// An integer above `Int64.max`. A smaller one in this case still equals the same `integer`.
  case unsigned(UInt64)
  /// A number that was written with a fraction or an exponent, or as `-0`. JSON has no infinity and no NaN:
  /// parsing never makes one, and one made by code is written as `null`.
  case double(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSON])
  /// An object.
  case object(JSONObject)
}

extension JSON {
  /// An integer of 64 bits or fewer, signed or not, in the case that its size asks for.
  public init(_ value: some FixedWidthInteger) {
    if let signed = Int64(exactly: value) {
      self = .integer(signed)
    } else if let unsigned = UInt64(exactly: value) {
      self = .unsigned(unsigned)
    } else {
      // Only integers wider than 64 bits come here.
      self = .double(Double(value))
    }
  }

  /// A double; `null` when it is infinite or not a number.
  public init(_ value: Double) {
    self = value.isFinite ? .double(value) : .null
  }

  /// A string.
  public init(_ value: String) {
    self = .string(value)
  }

  /// A truth value.
  public init(_ value: Bool) {
    self = .bool(value)
  }

  /// An array.
  public init(_ value: [JSON]) {
    self = .array(value)
  }

  /// An object.
  public init(_ value: JSONObject) {
    self = .object(value)
  }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// `nil` is `null`. Beware of `object["name"] = nil`, in which `nil` is an absent `JSON?`: it removes.
  public init(nilLiteral: ()) {
    self = .null
  }

  /// `true` or `false`.
  public init(booleanLiteral value: Bool) {
    self = .bool(value)
  }

  /// An integer literal of `Int64`; for a larger one write `.unsigned(…)`.
  public init(integerLiteral value: Int64) {
    self = .integer(value)
  }

  /// A literal with a fraction or an exponent.
  public init(floatLiteral value: Double) {
    self.init(value)
  }

  /// A string literal.
  public init(stringLiteral value: String) {
    self = .string(value)
  }

  /// An array literal.
  public init(arrayLiteral elements: JSON...) {
    self = .array(elements)
  }

  /// A dictionary literal is an object with its members in that order; of a repeated name the last wins.
  public init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(JSONObject(elements))
  }
}
