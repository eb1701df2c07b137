import LockstepJSON
import LockstepSchema
import Testing

@Suite(.timeLimit(.minutes(10))) struct NumberTests {
  @Test("multipleOf divides the decimal texts exactly", arguments: divisions)
  func multiples(_ divisor: String, _ number: String, _ isMultiple: Bool) throws {
    #expect(try faults(#"{"multipleOf": \#(divisor)}"#, number).isEmpty == isMultiple)
    if number != "0", !number.hasPrefix("-"), number != "18446744073709551615" {
      #expect(try faults(#"{"multipleOf": \#(divisor)}"#, "-\(number)").isEmpty == isMultiple, "the sign has no effect")
    }
  }

  @Test("Bounds compare exactly between all kinds of numbers")
  func order() throws {
    // In ascending order, as no double could compare them.
    let numbers = [
      "-1e300", "-9223372036854775808", "-9223372036854775807", "-9007199254740993", "-9007199254740992.0", "-1.5",
      "-1",
      "-0.5", "0", "5e-324", "0.1", "1", "1.5", "9007199254740992.0", "9007199254740993", "9223372036854774784.0",
      "9223372036854775807", "9223372036854775808.0", "9223372036854775809", "18446744073709549568.0",
      "18446744073709551615", "18446744073709551616.0", "1e300",
    ]
    for (place, bound) in numbers.enumerated() {
      let schemas = [
        try ValueSchema(JSON(parsing: #"{"minimum": \#(bound)}"#)),
        try ValueSchema(JSON(parsing: #"{"maximum": \#(bound)}"#)),
        try ValueSchema(JSON(parsing: #"{"exclusiveMinimum": \#(bound)}"#)),
        try ValueSchema(JSON(parsing: #"{"exclusiveMaximum": \#(bound)}"#)),
      ]
      for (other, text) in numbers.enumerated() {
        let number = try JSON(parsing: text)
        let expected = [other >= place, other <= place, other > place, other < place]
        #expect(schemas.map { $0.isValid(number) } == expected, "\(text) and the bound \(bound)")
      }
    }
  }

  @Test("Infinity and NaN, which no JSON contains, count as null")
  func notFinite() throws {
    for double in [Double.infinity, -.infinity, .nan] {
      #expect(try ValueSchema(["type": "null", "minimum": 1, "multipleOf": 0.5]).isValid(.double(double)))
      #expect(try !ValueSchema(["type": ["number", "integer"]]).isValid(.double(double)))
    }
  }

  private static let divisions: [(String, String, Bool)] = [
    ("0.1", "0.3", true), ("0.1", "0.35", false), ("0.1", "1", true), ("0.01", "0.07", true), ("0.01", "4.35", true),
    ("0.01", "4.355", false), ("0.0001", "0.0075", true), ("0.0001", "0.00751", false), ("1.5", "4.5", true),
    ("1.5", "4", false), ("2.5", "10", true), ("3", "9.0", true), ("3", "9.5", false), ("2", "0", true),
    ("0.3", "0", true),
    ("0.5", "1e308", true), ("3", "1e308", false), ("1e308", "1e308", true), ("1e308", "1.5e308", false),
    ("1e-307", "1e308", true), ("5e-324", "1", true), ("5e-324", "1.5e-323", true), ("1.5e-323", "5e-324", false),
    ("1e-7", "1e-9", false), ("1e300", "1", false), ("1e300", "1234567890123456789", false),
    ("9007199254740993", "9007199254740992", false), ("9007199254740993", "18014398509481986", true),
    ("18446744073709551615", "18446744073709551615", true), ("5", "18446744073709551615", true),
    ("18446744073709551615", "1e308", false), ("0.123456789", "1e308", false),
    ("1", "9223372036854775808", true), ("2.0", "9223372036854775808", true), ("1e2", "1e19", true),
  ]
}
