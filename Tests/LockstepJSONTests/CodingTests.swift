import Foundation
import LockstepJSON
import Testing

@Suite("Codable types are encoded to JSON values and decoded from them", .timeLimit(.minutes(10)))
struct CodingTests {
  enum Color: String, Codable, CaseIterable { case red, green }

  struct Address: Codable, Equatable {
    var city: String
    var zip: String?
  }

  struct Everything: Codable, Equatable {
    var text = "é\u{0}🦊"
    var flag = true
    var whole = Int.min
    var small = UInt8.max
    var large = UInt64.max
    var number = 0.1
    var float = Float(1.5)
    var none: Int?
    var some: Int? = 3
    var color = Color.green
    var colors: [Color] = [.red, .green]
    var address = Address(city: "Oslo")
    var addresses: [Address] = [Address(city: "a", zip: "b"), Address(city: "c")]
    var scores = ["z": 1, "a": 2, "é": 3]
    var nested = [[1], [], [2, 3]]
    var holes: [Int?] = [1, nil]
    var any: JSON = ["b": [1, nil], "a": 1.5]
    var indexed: [Int: String] = [2: "b", 10: "a"]
  }

  @Test("A value is the same after it was encoded and decoded")
  func roundTrip() throws {
    let value = Everything()
    let json = try JSON(encoding: value)
    #expect(try json.decoded(as: Everything.self) == value)
    let text = json.description
    #expect(try JSON(parsing: Array(text.utf8)).decoded(as: Everything.self) == value)
    #expect(try JSON(encoding: json.decoded(as: Everything.self)).description == text)
  }

  @Test("Foundation's coders read and write the same")
  func foundation() throws {
    let value = Everything()
    let encoded = try JSON(parsing: Array(JSONEncoder().encode(value)))
    #expect(try JSON(encoding: value) == encoded)
    #expect(try JSONDecoder().decode(Everything.self, from: Data(JSON(encoding: value).encoded())) == value)
  }

  @Test("Members come in the order of the type, and the keys of a dictionary in the order of their bytes")
  func order() throws {
    let json = try JSON(encoding: Everything())
    #expect(json.objectValue?.names.prefix(3) == ["text", "flag", "whole"])
    #expect(json["scores"]?.objectValue?.names == ["a", "z", "é"])
    #expect(json["any"]?.objectValue?.names == ["b", "a"])
    #expect(json["indexed"]?.objectValue?.names == ["10", "2"])
  }

  /// A type that writes its own containers.
  struct Custom: Codable, Equatable {
    enum Keys: String, CodingKey { case outer, pairs, inner, base }
    var x: Int
    var y: [Int]

    init(x: Int, y: [Int]) { (self.x, self.y) = (x, y) }

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: Keys.self)
      x = try members.nestedContainer(keyedBy: Keys.self, forKey: .outer).decode(Int.self, forKey: .inner)
      var pairs = try members.nestedUnkeyedContainer(forKey: .pairs)
      y = []
      while !pairs.isAtEnd {
        var pair = try pairs.nestedUnkeyedContainer()
        #expect(try !pair.decodeNil())
        y.append(try pair.decode(Int.self))
        #expect(try pair.decodeNil() && pair.isAtEnd && pair.currentIndex == 2)
      }
      #expect(try members.superDecoder(forKey: .base).singleValueContainer().decode(String.self) == "base")
      #expect(try members.superDecoder().singleValueContainer().decodeNil())
    }

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: Keys.self)
      var pairs = members.nestedUnkeyedContainer(forKey: .pairs)
      var outer = members.nestedContainer(keyedBy: Keys.self, forKey: .outer)
      for number in y {
        var pair = pairs.nestedUnkeyedContainer()
        try pair.encode(number)
        try pair.encodeNil()
      }
      try outer.encode(x, forKey: .inner)
      var base = members.superEncoder(forKey: .base).singleValueContainer()
      try base.encode("base")
      var again = encoder.container(keyedBy: Keys.self)
      _ = again.superEncoder()
    }
  }

  @Test("Nested containers may be written in any order")
  func containers() throws {
    let json = try JSON(encoding: Custom(x: 1, y: [2, 3]))
    #expect(json.description == #"{"pairs":[[2,null],[3,null]],"outer":{"inner":1},"base":"base","super":null}"#)
    #expect(try json.decoded(as: Custom.self) == Custom(x: 1, y: [2, 3]))
  }

  @Test(
    "An error names the place, and says what is wrong",
    arguments: [
      (#"{"zip":"1"}"#, "city", "It is missing."), (#"{"city":1}"#, "city", "It must be a string, and is number."),
      (#"{"city":null}"#, "city", "It must be a string, and is null."),
      (#"{"city":"","zip":[]}"#, "zip", "It must be a string, and is array."),
      ("[]", "", "It must be an object, and is array."),
    ]
  )
  func errors(text: String, place: String, detail: String) throws {
    let json = try JSON(parsing: Array(text.utf8))
    do {
      _ = try json.decoded(as: Address.self)
      Issue.record("It was decoded.")
    } catch {
      let context = try #require(Self.context(of: error))
      #expect(context.codingPath.map(\.stringValue).joined(separator: "/") == place)
      #expect(context.debugDescription == detail)
    }
  }

  private static func context(of error: any Error) -> DecodingError.Context? {
    switch error {
    case DecodingError.keyNotFound(_, let context), DecodingError.typeMismatch(_, let context),
      DecodingError.valueNotFound(_, let context), DecodingError.dataCorrupted(let context):
      context
    default: nil
    }
  }

  @Test("The path of an error leads through arrays and dictionaries")
  func paths() throws {
    let json: JSON = ["a": [["city": "x"], ["city": 1]]]
    do {
      _ = try json.decoded(as: [String: [Address]].self)
      Issue.record("It was decoded.")
    } catch {
      let path = Self.context(of: error)?.codingPath.map { $0.intValue.map { "\($0)" } ?? $0.stringValue }
      #expect(path == ["a", "1", "city"])
    }
  }

  @Test("A number must fit its type, and a number that JSON does not have cannot be encoded")
  func numbers() throws {
    #expect(throws: DecodingError.self) { try (256 as JSON).decoded(as: UInt8.self) }
    #expect(throws: DecodingError.self) { try (-1 as JSON).decoded(as: UInt.self) }
    #expect(throws: DecodingError.self) { try (1.5 as JSON).decoded(as: Int.self) }
    #expect(try (1.0 as JSON).decoded(as: Int.self) == 1)
    #expect(try JSON.unsigned(.max).decoded(as: UInt64.self) == .max)
    #expect(throws: EncodingError.self) { try JSON(encoding: [Double.nan]) }
    #expect(throws: EncodingError.self) { try JSON(encoding: ["a": Float.infinity]) }
    #expect(throws: EncodingError.self) { try JSON(encoding: Double.infinity) }
  }

  @Test("A member that is missing has its default, but a member with a value keeps it")
  func defaults() throws {
    let defaults: JSONObject = ["city": "Oslo", "zip": "0150"]
    #expect(
      try (["zip": "1"] as JSON).decoded(as: Address.self, withDefaults: defaults) == Address(city: "Oslo", zip: "1")
    )
    #expect(try ([:] as JSON).decoded(as: Address.self, withDefaults: defaults) == Address(city: "Oslo", zip: "0150"))
    #expect(throws: DecodingError.self) {
      try (["city": 1] as JSON).decoded(as: Address.self, withDefaults: defaults)
    }
  }
}
