import LockstepJSON
import Testing

@testable import LockstepCollections

@Suite("A decimal number is exact", .timeLimit(.minutes(10)))
struct DecimalNumberTests {
  @Test(
    "Each spelling has one canonical text",
    arguments: [
      ("0", "0"), ("-0", "0"), ("12", "12"), ("12.50", "12.5"), ("12.000", "12"), ("-0.010", "-0.01"), ("0.1", "0.1"),
      ("999999999999999.999999999999999999", "999999999999999.999999999999999999"),
      ("-999999999999999.999999999999999999", "-999999999999999.999999999999999999"),
      ("0.000000000000000001", "0.000000000000000001"),
    ]
  )
  func spellings(text: String, canonical: String) throws {
    let number = try #require(DecimalNumber(text))
    #expect(number.description == canonical && DecimalNumber(canonical) == number)
  }

  @Test(
    "Any other text is no number",
    arguments: [
      "", "-", ".", ".5", "5.", "+1", "1e3", "007", "00", "1,5", " 1", "1 ", "1.2.3", "--1", "NaN", "Infinity", "0x1",
      "1000000000000000", "0.0000000000000000001", "٣",
    ]
  )
  func others(text: String) { #expect(DecimalNumber(text) == nil) }

  @Test("Sums and products are exact")
  func arithmetic() throws {
    func number(_ text: String) throws -> DecimalNumber { try #require(DecimalNumber(text)) }
    #expect(try number("0.1") + number("0.2") == number("0.3"))
    #expect(try number("19.99") * 3 == number("59.97"))
    #expect(try number("1") - number("1.01") == number("-0.01"))
    #expect(try -number("2.5") < 0)
    #expect(try [number("0.5"), -1, 2, number("-1.5")].sorted().map(\.description) == ["-1.5", "-1", "0.5", "2"])
    #expect(try number("0.25").doubleValue == 0.25)
  }

  @Test("A number that is too large is never stored, and arithmetic never ends the process")
  func overflow() throws {
    let large = try #require(DecimalNumber("999999999999999"))
    #expect(!large.isTooLarge && (large + 1).isTooLarge && (-large - 1).isTooLarge)
    let beyond = large * Int.max * Int.max
    #expect(
      beyond.isTooLarge && (beyond + beyond).isTooLarge && (-beyond - beyond).isTooLarge
        && DecimalNumber(Int.max).isTooLarge
    )
    #expect(throws: EncodingError.self) { try JSON(encoding: large + 1) }
    #expect(try JSON(encoding: large) == "999999999999999")
    #expect(throws: DecodingError.self) { try (1.5 as JSON).decoded(as: DecimalNumber.self) }
  }
}
