import Foundation
import LockstepJSON
import Testing

@Suite("JSON as a part of a Codable type", .timeLimit(.minutes(10)))
struct CodableTests {
  private struct Element: Codable, Equatable {
    let id: String
    var data: JSON?
  }

  @Test(
    "Each value is the same after it was encoded and decoded",
    arguments: [
      "null", "true", "false", "0", "-9223372036854775808", "18446744073709551615", "0.1", "-1.5e300", #""""#,
      #""a\u0000b🦊""#, "[]", "{}", #"[1,[2,{"a":[null]}],"x"]"#, #"{"a":{"b":{"c":false}}}"#,
    ]
  )
  func roundTrip(text: String) throws {
    let json = try JSON(parsing: Array(text.utf8))
    let encoded = try JSONEncoder().encode(Element(id: "e", data: json))
    let parsed = try JSON(parsing: Array(encoded))
    #expect(json == .null || parsed["data"] == json)
    let decoded = try JSONDecoder().decode(Element.self, from: encoded)
    #expect(decoded.data ?? .null == json)
  }

  @Test("A whole number with a fraction of zero stays a number")
  func wholeDouble() throws {
    let encoded = try JSONEncoder().encode(JSON.double(3))
    #expect(try JSONDecoder().decode(JSON.self, from: encoded).doubleValue == 3)
  }
}
