import Foundation
import LockstepJSON
import LockstepTime
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport

/// An element with a member of each type.
struct Trip: Codable, Equatable, Identifiable, Sendable {
  enum Kind: String, Codable, CaseIterable, Sendable { case rail, road }
  enum Stars: Int, Codable, CaseIterable, Sendable { case one = 1, two }

  struct Place: Codable, Equatable, Sendable {
    var city: String
    var zip: String?
  }

  struct Tag: RawRepresentable, Codable, Equatable, Sendable { var rawValue: String }

  let id: String
  var title: String
  var isDone: Bool
  var balance: Int
  var seats: UInt8
  var rating: Double
  var price: DecimalNumber
  var start: Timestamp
  var end: Timestamp?
  var kind: Kind
  var stars: Stars?
  var tags: [Tag]
  var scores: [String: Int]
  var place: Place
  var stops: [Place]?
  var key: UUID
  var data: JSON?
}

@Suite("The format of elements follows from their type", .timeLimit(.minutes(10)))
struct ElementFormatTests {
  private static func schema<Element: ListContent>(
    of type: Element.Type,
    _ rules: [ElementRule] = []
  ) throws -> JSON where Element.ID == String {
    try ElementFormat<Element>(rules, of: "trips").schema
  }

  @Test("Each type of a member has its schema")
  func schemas() throws {
    let schema = try Self.schema(
      of: Trip.self,
      [
        .bytes("title", 1...50), .range("balance", -5...5), .range("rating", 0.5...5.5), .bytes("tags", 1...9),
        .count("tags", 0...3), .count("scores", 0...2), .range("scores", 0...9), .bytes("place/city", 1...80),
        .bytes("data", 0...100), .default("isDone", false), .added("start"), .changed("end"),
      ]
    )
    let place: JSON = [
      "type": "object",
      "properties": ["city": ["type": "string", "minLength": 1, "maxLength": 80], "zip": ["type": "string"]],
      "required": ["city"],
    ]
    let stop: JSON = [
      "type": "object", "properties": ["city": ["type": "string"], "zip": ["type": "string"]],
      "required": ["city"],
    ]
    let time: JSON = ["type": "string", "format": "date-time", "readOnly": true]
    let members: [(String, JSON)] = [
      ("id", .nameSchema), ("title", ["type": "string", "minLength": 1, "maxLength": 50]),
      ("isDone", ["type": "boolean", "default": false]), ("balance", ["type": "integer", "minimum": -5, "maximum": 5]),
      ("seats", ["type": "integer", "minimum": 0, "maximum": 255]),
      ("rating", ["type": "number", "minimum": 0.5, "maximum": 5.5]),
      ("price", ["type": "string", "format": "decimal", "pattern": .string(DecimalNumber.pattern)]),
      ("start", time), ("end", time), ("kind", ["type": "string", "enum": ["rail", "road"]]),
      ("stars", ["type": "integer", "enum": [1, 2]]),
      (
        "tags",
        [
          "type": "array", "items": ["type": "string", "minLength": 1, "maxLength": 9], "minItems": 0, "maxItems": 3,
        ]
      ),
      (
        "scores",
        [
          "type": "object", "additionalProperties": ["type": "integer", "minimum": 0, "maximum": 9],
          "minProperties": 0, "maxProperties": 2,
        ]
      ),
      ("place", place), ("stops", ["type": "array", "items": stop]), ("key", ["type": "string", "format": "uuid"]),
      ("data", [:]),
    ]
    for (name, expected) in members { #expect(schema["properties"]?[name] == expected, "\(name)") }
    #expect(schema["properties"]?.objectValue?.names == members.map(\.0))
    let required: JSON = [
      "id", "title", "balance", "seats", "rating", "price", "start", "kind", "tags", "scores", "place", "key",
    ]
    #expect(schema["required"] == required)
  }

  @Test("Clients may not send other members, but stored elements may have some that the type had before")
  func closed() throws {
    let format = try ElementFormat<Trip>([], of: "trips")
    let sent = format.payload(of: .add).first { $0.name == "place" }
    #expect(sent?.schema["additionalProperties"] == false)
    #expect(format.schema["properties"]?["place"]?["additionalProperties"] == nil)
    #expect(format.schema["additionalProperties"] == nil)
  }

  // MARK: - Types whose form stays unclear

  struct Union: Codable, Equatable, Sendable {
    var text = ""

    init(from decoder: any Decoder) throws {
      let value = try decoder.singleValueContainer()
      text = try (try? value.decode(String.self)) ?? "\(value.decode(Int.self))"
    }

    func encode(to encoder: any Encoder) throws {
      var value = encoder.singleValueContainer()
      try value.encode(text)
    }
  }

  enum Payload: Codable, Equatable, Sendable { case text(String), none }
  enum Closed: String, Codable, Sendable { case a, b }
  struct Tree: Codable, Equatable, Sendable { var children: [Tree] }
  struct Fixed: Codable, Equatable, Sendable {
    init(from decoder: any Decoder) throws {
      var values = try decoder.unkeyedContainer()
      _ = (try values.decode(Int.self), try values.decode(String.self))
    }

    func encode(to encoder: any Encoder) throws {
      var values = encoder.unkeyedContainer()
      try values.encode(1)
      try values.encode("")
    }
  }

  struct Holder<Value: Codable & Equatable & Sendable>: Codable, Equatable, Identifiable, Sendable {
    let id: String
    var value: Value
  }

  private static func refusal<Value: Codable & Equatable & Sendable>(of type: Value.Type) -> String? {
    do {
      _ = try ElementFormat<Holder<Value>>([], of: "holders")
      return nil
    } catch {
      return (error as? ShapeError)?.phrase ?? "\(error)"
    }
  }

  @Test("A member whose form stays unclear is refused, with its name and advice")
  func unclear() throws {
    let refusals = [
      Self.refusal(of: Union.self), Self.refusal(of: Payload.self), Self.refusal(of: Closed.self),
      Self.refusal(of: Tree.self), Self.refusal(of: Fixed.self), Self.refusal(of: Set<String>.self),
      Self.refusal(of: [Int: String].self), Self.refusal(of: Date.self), Self.refusal(of: URL.self),
      Self.refusal(of: Decimal.self), Self.refusal(of: Data?.self), Self.refusal(of: [Date].self),
    ]
    for (place, refusal) in refusals.enumerated() {
      #expect(refusal?.hasPrefix("the member “value") == true, "\(place): \(refusal ?? "no refusal")")
    }
    #expect(refusals[0]?.contains("may be number as well as another type of JSON") == true)
    #expect(refusals[3]?.contains("contains itself") == true)
    #expect(refusals[4]?.contains("is an array with fixed places") == true)
    #expect(
      refusals[5]
        == "the member “value” of its elements is a set, which has no order, so its bytes would change. "
        + "Use a sorted array."
    )
    #expect(refusals[6]?.contains("Use strings as keys") == true)
    #expect(refusals[7]?.contains("is a Date of Foundation") == true && refusals[7]?.contains("Use Timestamp") == true)
    #expect(refusals[9]?.contains("Use DecimalNumber") == true)
  }

  @Test("A type that describes itself may have any form")
  func provided() throws {
    struct Free: SchemaProviding, Equatable, Sendable {
      static let schema: JSON = ["type": ["string", "integer"]]
      static let example = Free(json: 1)
      var json: JSON

      init(json: JSON) { self.json = json }
      init(from decoder: any Decoder) throws { json = try JSON(from: decoder) }
      func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
    }
    let schema = try Self.schema(of: Holder<Free>.self)
    #expect(schema["properties"]?["value"] == Free.schema)
  }

  // MARK: - Members that may be missing

  /// A type that reads an older form, and computes a member.
  struct Custom: Codable, Equatable, Identifiable, Sendable {
    enum CodingKeys: CodingKey { case id, name, title, stars, total }
    let id: String
    var name: String
    var stars: Int

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      id = try members.decode(String.self, forKey: .id)
      name = try members.decodeIfPresent(String.self, forKey: .name) ?? members.decode(String.self, forKey: .title)
      stars = try members.decodeIfPresent(Int.self, forKey: .stars) ?? 3
    }

    func encode(to encoder: any Encoder) throws {
      var members = encoder.container(keyedBy: CodingKeys.self)
      try members.encode(id, forKey: .id)
      try members.encode(name, forKey: .name)
      try members.encode(stars, forKey: .stars)
      try members.encode(stars * 2, forKey: .total)
    }
  }

  @Test("Code of the type's own decides on defaults and on computed members")
  func custom() throws {
    let schema = try Self.schema(of: Custom.self)
    #expect(schema["properties"]?.objectValue?.names == ["id", "name", "stars", "total"])
    #expect(schema["properties"]?["stars"]?["default"] == 3)
    #expect(schema["properties"]?["total"] == ["type": "number", "readOnly": true])
    #expect(schema["required"] == ["id", "name", "total"])
  }

  // MARK: - Rules

  @Test(
    "A rule that does not fit is refused",
    arguments: [
      (ElementRule.bytes("nam", 1...2), "its elements have no member “nam”, but a rule has this name."),
      (.bytes("balance", 1...2), "the member “balance” of its elements does not fit its rule `bytes`."),
      (.count("title", 1...2), "the member “title” of its elements does not fit its rule `count`."),
      (.range("title", 1...2), "the member “title” of its elements does not fit its rule `range`."),
      (.range("balance", 0.5...1), "the member “balance” of its elements does not fit its rule `range`."),
      (.range("place/city", 1...2), "the member “place/city” of its elements does not fit its rule `range`."),
      (.bytes("place/town", 1...2), "the member “place/town” of its elements does not fit its rule `bytes`."),
      (.default("title", 1), "the member “title” of its elements does not fit its rule `default`."),
      (.added("title"), "the member “title” of its elements does not fit its rule `added`."),
      (
        .readOnly("title"),
        "the member “title” of its elements is only set by the server, so it needs a `default` or must be optional."
      ),
      (.default("id", ""), "its elements have no required member “id” that is a string."),
    ]
  )
  func rules(rule: ElementRule, phrase: String) {
    do {
      _ = try ElementFormat<Trip>([rule], of: "trips")
      Issue.record("The rule was accepted.")
    } catch {
      #expect((error as? ShapeError)?.phrase == phrase)
    }
  }

  @Test("An element must have an id and no member `index`")
  func names() {
    struct Keyed: Codable, Equatable, Identifiable, Sendable {
      var isbn: String
      var id: String { isbn }
    }
    struct Indexed: Codable, Equatable, Identifiable, Sendable {
      let id: String
      var index: Int
    }
    #expect(throws: ShapeError.self) { try ElementFormat<Keyed>([], of: "books") }
    #expect(throws: ShapeError.self) { try ElementFormat<Indexed>([], of: "books") }
  }
}
