import LockstepJSON
import Testing

@Suite(.timeLimit(.minutes(10))) struct NumberTests {
  @Test(
    "Integers of 64 bits are exact",
    arguments: [
      ("0", JSON.integer(0)), ("7", .integer(7)), ("-1", .integer(-1)),
      ("9007199254740991", .integer(9_007_199_254_740_991)),
      ("9007199254740993", .integer(9_007_199_254_740_993)),
      ("999999999999999999", .integer(999_999_999_999_999_999)),
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
      ("9223372036854775808", .unsigned(9_223_372_036_854_775_808)),
      ("9999999999999999999", .unsigned(9_999_999_999_999_999_999)),
      ("10000000000000000000", .unsigned(10_000_000_000_000_000_000)),
      ("18446744073709551615", .unsigned(.max)),
    ]
  )
  func integers(_ text: String, _ expected: JSON) throws {
    let value = try JSON(parsing: text)
    #expect(value == expected)
    #expect(isSameCase(value, expected))
    #expect(value.description == text)
  }

  @Test("A zero keeps its sign", arguments: ["-0", "-0.0", "-0e0"])
  func negativeZero(_ text: String) throws {
    let value = try JSON(parsing: text)
    #expect(value.doubleValue?.bitPattern == (-0.0).bitPattern)
    #expect(value.description == "-0.0")
    #expect(value == 0)
    #expect(value.intValue == 0)
  }

  @Test(
    "Integers that do not fit into 64 bits are out of range",
    arguments: [
      "18446744073709551616", "18446744073709551625", "19999999999999999999", "20000000000000000000",
      "36893488147419103232", "99999999999999999999", "100000000000000000000", "184467440737095516150",
      "-9223372036854775809", "-18446744073709551615", "-18446744073709551616",
    ]
  )
  func integersOutOfRange(_ text: String) {
    let error = #expect(throws: JSONParseError.self) { try JSON(parsing: text) }
    #expect(error?.kind == .numberOutOfRange)
    #expect(error?.byteOffset == 0)
  }

  @Test("A literal with a fraction or an exponent is the nearest double", arguments: doubleLiterals)
  func doubles(_ text: String) throws {
    let expected = try #require(Double(text))
    guard case .double(let value) = try JSON(parsing: text) else {
      Issue.record("\(text) is no double")
      return
    }
    #expect(value.bitPattern == expected.bitPattern)
    let negative = try JSON(parsing: "-" + text).doubleValue
    #expect(negative?.bitPattern == (-expected).bitPattern)
  }

  @Test(
    "Doubles that would be infinite are out of range",
    arguments: ["1e309", "-1e309", "1.7976931348623159e308", "1.0e400"]
  )
  func doublesOutOfRange(_ text: String) {
    let error = #expect(throws: JSONParseError.self) { try JSON(parsing: text) }
    #expect(error?.kind == .numberOutOfRange)
  }

  @Test(
    "Numbers that would wrongly become zero are out of range",
    arguments: ["2e-324", "-2e-324", "1e-400", "-1.0e-400", "1e-99999999999", "0.00000000000000000001e-400"]
  )
  func doublesTooSmall(_ text: String) {
    let error = #expect(throws: JSONParseError.self) { try JSON(parsing: "[\(text)]") }
    #expect(error?.kind == .numberOutOfRange)
    #expect(error?.byteOffset == 1)
  }

  @Test(
    "Doubles are written as the shortest text that parses as the same",
    arguments: [
      (0.1, "0.1"), (1.0, "1.0"), (-0.0, "-0.0"), (1e21, "1e+21"), (Double.leastNonzeroMagnitude, "5e-324"),
      (0.1 + 0.2, "0.30000000000000004"),
      (1.7976931348623157e308, "1.7976931348623157e+308"),
    ]
  )
  func shortestDoubles(_ value: Double, _ text: String) throws {
    #expect(JSON.double(value).description == text)
    #expect(try JSON(parsing: text).doubleValue?.bitPattern == value.bitPattern)
  }

  @Test("Infinity and NaN are written as null", arguments: [Double.nan, .infinity, -.infinity])
  func nonFinite(_ value: Double) {
    #expect(JSON.double(value).description == "null")
    #expect(JSON(value) == .null)
  }

  @Test("A million digits are parsed and rounded correctly")
  func manyDigits() throws {
    let text = "0." + String(repeating: "0", count: 500_000) + "1" + String(repeating: "7", count: 500_000) + "e500000"
    #expect(try JSON(parsing: text).doubleValue == 0.1777777777777777777)
  }

  /// Whether both are the same number in the same case of the enumeration.
  private func isSameCase(_ left: JSON, _ right: JSON) -> Bool {
    switch (left, right) {
    case (.integer, .integer), (.unsigned, .unsigned), (.double, .double): true
    default: false
    }
  }

  static let doubleLiterals = [
    "0.0", "0e0", "0E+5", "0.1", "1.0", "1e0", "1e22", "1e23", "1e-22", "1e-23", "9007199254740992e22",
    "9007199254740993.0", "9007199254740993e0", "9007199254740992.5", "9007199254740991e-5", "123456789012345678.9",
    "1234567890123456789.0", "12345678901234567890.0", "18446744073709551616.0", "18446744073709551617e-1",
    "99999999999999999999e-20", "0.00000000000000000000000000000000000012345", "1e308", "1.7976931348623157e308",
    "2.2250738585072014e-308", "2.2250738585072011e-308", "4.9e-324", "5e-324", "3e-324", "0e-400",
    "0.00000000000000000000e-99999999999",
    "8.98846567431158e307", "3.1415926535897932384626433832795028841971", "0.3", "1.1", "2.5E-3", "6.02214076e23",
    "7.2057594037927933e16", "1448997445238699.0", "0.000001", "123.456e-2",
  ]
}
