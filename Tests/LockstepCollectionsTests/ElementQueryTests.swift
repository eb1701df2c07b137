import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections

@Suite("Conditions on the elements of a list, and their order", .timeLimit(.minutes(10)))
struct ElementQueryTests {
  private static func list(_ data: [JSON?]) -> ListState {
    var list = ListState()
    for (index, data) in data.enumerated() {
      var item: JSONObject = ["id": .string("\(index)")]
      if let data { item["data"] = data }
      list.apply(.inserted(id: "\(index)", item: EncodedJSON(.object(item)), index: list.count))
    }
    return list
  }

  /// The indices of the elements with this data that meet the conditions.
  private static func matches(_ data: [JSON?], _ conditions: String..., sort: String? = nil) throws -> [Int] {
    let query = try ElementQuery(conditions: conditions, order: sort, members: ["id", "data"])
    return list(data).items(withPrefix: nil, matching: query).compactMap { Int($0.id.text) }
  }

  private static func fault(_ conditions: [String], sort: String? = nil) -> String? {
    do throws(ElementQueryError) {
      _ = try ElementQuery(conditions: conditions, order: sort, members: ["id", "title", "data"])
      return nil
    } catch {
      return error.fault
    }
  }

  // MARK: Operators

  @Test("Equality compares JSON values: the spelling of a number does not count, and 64-bit integers are exact")
  func equality() throws {
    let data: [JSON?] = [1, 1.0, "1", true, .null, nil, [1], ["a": 1, "b": 2], "", false, 0, -0.0]
    for (condition, expected) in [
      ("data:eq:1", [0, 1]), ("data:eq:1.0", [0, 1]), ("data:eq:1e0", [0, 1]), (#"data:eq:"1""#, [2]),
      ("data:eq:true", [3]), ("data:eq:null", [4]), ("data:eq:[1]", [6]), ("data:eq:[1.0]", [6]), ("data:eq:[]", []),
      (#"data:eq:{"b":2,"a":1}"#, [7]), (#"data:eq:{"b":2}"#, []), ("data:eq:", [8]), (#"data:eq:"""#, [8]),
      ("data:eq:false", [9]), ("data:eq:0", [10, 11]), ("data:eq:-0", [10, 11]),
      ("data:ne:1", [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]), ("data:ne:null", [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11]),
      (#"data:in:[1,null,"1"]"#, [0, 1, 2, 4]), ("data:in:[]", []), (#"data:in:[[1],{"a":1,"b":2}]"#, [6, 7]),
      ("data:in:[90,91,92,93,94,95,96,97,98,1,false]", [0, 1, 9]),
      (#"data:in:[90,91,92,93,94,95,96,97,98,"",null,[1]]"#, [4, 6, 8]),
    ] {
      #expect(try Self.matches(data, condition) == expected, "\(condition)")
    }
    let large: [JSON?] = [
      9_007_199_254_740_993, 9_007_199_254_740_992, .unsigned(.max), .integer(.min), 1.8446744073709552e19,
    ]
    #expect(try Self.matches(large, "data:eq:9007199254740993") == [0])
    #expect(try Self.matches(large, "data:eq:9007199254740992.0") == [1])
    #expect(try Self.matches(large, "data:eq:18446744073709551615") == [2])
    #expect(try Self.matches(large, "data:eq:-9223372036854775808") == [3])
    #expect(try Self.matches(large, "data:gt:9007199254740992") == [0, 2, 4])
    #expect(try Self.matches(large, "data:gt:18446744073709551615") == [4])
    #expect(try Self.matches(large, sort: "data") == [3, 1, 0, 2, 4])
    #expect(try Self.matches(large, sort: "-data") == [4, 2, 0, 1, 3])
  }

  @Test("Order compares numbers with numbers and strings with strings, and different types never match")
  func order() throws {
    let data: [JSON?] = [1, 2.5, "1", "b", "é", "e\u{301}", true, .null, nil, [1], -3, "a\"", "a\u{1}", ""]
    for (condition, expected) in [
      ("data:lt:2", [0, 10]), ("data:le:2.5", [0, 1, 10]), ("data:gt:1", [1]), ("data:ge:1", [0, 1]),
      ("data:gt:-3", [0, 1]), ("data:ge:-3", [0, 1, 10]),
      ("data:lt:b", [2, 11, 12, 13]), (#"data:le:"b""#, [2, 3, 11, 12, 13]), ("data:gt:b", [4, 5]),
      ("data:ge:é", [4]), ("data:lt:é", [2, 3, 5, 11, 12, 13]), (#"data:gt:"a\u0001""#, [3, 4, 5, 11]),
      (#"data:ge:"a\"""#, [3, 4, 5, 11]), ("data:lt:true", []), ("data:le:true", []), ("data:le:null", []),
      ("data:ge:[1]", []), ("data:ge:", [2, 3, 4, 5, 11, 12, 13]),
    ] {
      #expect(try Self.matches(data, condition) == expected, "\(condition)")
    }
    let times: [JSON?] = ["2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00.000Z", "2026-02-01T00:00:00.001Z"]
    #expect(try Self.matches(times, "data:ge:2026-02-01T00:00:00.000Z") == [1, 2])
    #expect(try Self.matches(times, "data:ge:2026-02-01", "data:lt:2026-02-01T00:00:00.001Z") == [1])
  }

  @Test("An array has equal values, a string has its parts, and nothing else has anything")
  func has() throws {
    let data: [JSON?] = [
      ["red", "blue"], [1, 2.0], "redwood", "infrared", ["a": "red"], [["red"]], nil, "aabaabaaab", 12, "tea \"red\"",
      [], [[]], "",
    ]
    for (condition, expected) in [
      ("data:has:red", [0, 2, 3, 9]), (#"data:has:"red""#, [0, 2, 3, 9]), ("data:has:2", [1]), ("data:has:1.0", [1]),
      (#"data:has:["red"]"#, [5]), ("data:has:aabaaab", [7]), ("data:has:aaab", [7]), ("data:has:abab", []),
      (#"data:has:"\"red\"""#, [9]), ("data:has:", [2, 3, 7, 9, 12]), ("data:has:[]", [11]), ("data:has:bluer", []),
    ] {
      #expect(try Self.matches(data, condition) == expected, "\(condition)")
    }
    // A value that is no JSON string counts as it is written where text is searched.
    #expect(try Self.matches(["May 2026", ["2026"], [2026]], "data:has:2026") == [0, 2])
  }

  @Test("A prefix is of the bytes of a string")
  func prefix() throws {
    let data: [JSON?] = ["2026-05-01", "20", 2026, "e\u{301}t", "ét", nil, ["2026"], "\"x", "nullable", ""]
    for (condition, expected) in [
      ("data:prefix:2026", [0]), ("data:prefix:20", [0, 1]), ("data:prefix:e", [3]), ("data:prefix:é", [4]),
      (#"data:prefix:"\"""#, [7]), ("data:prefix:\"", [7]), ("data:prefix:null", [8]),
      ("data:prefix:", [0, 1, 3, 4, 7, 8, 9]),
    ] {
      #expect(try Self.matches(data, condition) == expected, "\(condition)")
    }
  }

  @Test("A path leads through members and elements of arrays, and an absent value meets only ne")
  func paths() throws {
    let data: [JSON?] = [
      ["a": ["b": 1]], ["a": [["b": 1], ["b": 2]]], ["a": ["0": ["b": 1]]], ["a": 1], nil, ["a.b": 1], ["é": 1, "": 2],
      ["x\"y": 1], ["a": ["b": .null]],
    ]
    for (condition, expected) in [
      ("data.a.b:eq:1", [0]), ("data.a.0.b:eq:1", [1, 2]), ("data.a.1.b:eq:2", [1]), ("data.a.00.b:eq:1", []),
      ("data.a.b:ne:1", [1, 2, 3, 4, 5, 6, 7, 8]), ("data.a.b:eq:null", [8]), ("data.é:eq:1", [6]),
      ("data.x\"y:eq:1", [7]), ("data.a.99999999999999999999:ne:1", Array(0...8)), (#"id:ge:"7""#, [7, 8]),
      ("id:ge:7", []),
      ("data.a:eq:1", [3]), ("data.a.b.c:eq:1", []), ("id.x:eq:1", []),
    ] {
      #expect(try Self.matches(data, condition) == expected, "\(condition)")
    }
    #expect(try Self.matches(data, "data.a:eq:{\"b\":1}", "data.a.b:eq:1") == [0])
    let deep = (0..<15).reduce(JSON.integer(7)) { value, _ in ["n": value] }
    let path = (["data"] + Array(repeating: "n", count: 15)).joined(separator: ".")
    #expect(try Self.matches([deep, 1], "\(path):eq:7") == [0])
  }

  // MARK: Sorting

  @Test("The order is false, true, numbers, strings, and anything else last, also in the other direction")
  func sort() throws {
    let data: [JSON?] = ["b", .null, 2, true, nil, "a", [1], 1.5, false, -1, "é", "e\u{301}", "", ["x": 1], 0, -0.0]
    let rest = [1, 4, 6, 13]
    #expect(try Self.matches(data, sort: "data") == [8, 3, 9, 14, 15, 7, 2, 12, 5, 0, 11, 10] + rest)
    #expect(try Self.matches(data, sort: "-data") == [10, 11, 0, 5, 12, 2, 7, 14, 15, 9, 3, 8] + rest)
  }

  @Test("Elements with equal values are sorted by the next path, and keep their order after the last")
  func stable() throws {
    let data: [JSON?] = [
      ["a": 1, "b": "x"], ["a": 2, "b": "y"], ["a": 1, "b": "y"], ["a": 2, "b": "x"], ["a": 1.0, "b": "x"], ["b": "z"],
    ]
    #expect(try Self.matches(data, sort: "data.a") == [0, 2, 4, 1, 3, 5])
    #expect(try Self.matches(data, sort: "-data.a") == [1, 3, 0, 2, 4, 5])
    #expect(try Self.matches(data, sort: "-data.a,-data.b") == [1, 3, 2, 0, 4, 5])
    #expect(try Self.matches(data, sort: "data.b,-id") == [4, 3, 0, 2, 1, 5])
    #expect(try Self.matches(data, "data.b:ne:y", sort: "-id") == [5, 4, 3, 0])
  }

  @Test("Strings are sorted by all of their bytes, also with escapes and beyond the first eight")
  func longStrings() throws {
    let data: [JSON?] = [
      "12345678", "123456789", "12345678\u{0}", "1234567", "12345678a\"", "12345678a", "12345678a\"b", "1234567\\",
      "a\u{0}",
      "a", "\u{7f}", "\u{80}", "\u{10000}", "\u{ffff}",
    ]
    let order = [3, 0, 2, 1, 5, 4, 6, 7, 9, 8, 10, 11, 13, 12]
    #expect(try Self.matches(data, sort: "data") == order)
    #expect(try Self.matches(data, sort: "-data") == order.reversed())
  }

  // MARK: Malformed queries

  @Test(
    "A malformed query is refused with its correct form",
    arguments: [
      ("title", "must be <path>:<operator>:<value>"), ("", "must be <path>:<operator>:<value>"),
      ("title:eq", "such as data.done:eq:false"), ("title:is:x", "eq, ne, lt, le, gt, ge, in, has, prefix"),
      ("title:EQ:x", "no valid operator"), ("title::x", "no valid operator"), (":eq:x", "empty name"),
      ("data.:eq:x", "empty name"), ("data..x:eq:1", "empty name"), (".data:eq:1", "empty name"),
      ("data.\(String(repeating: "a.", count: 15))a:eq:1", "may have a path of 16 names"),
      ("titel:eq:x", "They have id, title, data"), ("data:in:1", "needs a JSON array"),
      ("data:in:[1", "needs a JSON array"),
      ("data:in:{}", "needs a JSON array"), ("cursor:eq:x", "no such member"),
    ]
  )
  func malformed(condition: String, detail: String) {
    let fault = Self.fault([condition])
    #expect(fault?.contains(detail) == true, "\(fault ?? "no fault")")
    if !condition.contains(":") { return }
    // The same path in an order.
    let path = String(condition.prefix { $0 != ":" })
    let isPathWrong = Self.fault([], sort: path) != nil
    #expect(isPathWrong == !["title", "data"].contains(path))
  }

  @Test("The number of conditions and of sort keys is limited, and a long text is not repeated")
  func limits() {
    #expect(Self.fault(Array(repeating: "title:eq:x", count: 16)) == nil)
    #expect(Self.fault(Array(repeating: "title:eq:x", count: 17))?.contains("may occur 16 times") == true)
    #expect(Self.fault([], sort: Array(repeating: "-title", count: 8).joined(separator: ",")) == nil)
    let many = Self.fault([], sort: Array(repeating: "title", count: 9).joined(separator: ","))
    #expect(many?.contains("may have 8 paths, and has 9") == true)
    for order in ["", "-", "title,", ",title", "title,,id", "--title", "-title,-"] {
      #expect(Self.fault([], sort: order) != nil, "\(order)")
    }
    let long = Self.fault([String(repeating: "e\u{301}", count: 3_000)]) ?? ""
    #expect(long.utf8.count < 400)
  }

  // MARK: Model

  private struct Model {
    var numbers: SeededNumbers

    static let scalars: [JSON] = [
      .null, true, false, 0, 1, 2, -1, 1.5, -0.0, 1e300, 9_007_199_254_740_993, 9_007_199_254_740_992.0, .integer(.min),
      .integer(.max), .unsigned(.max), 1.8446744073709552e19, "", "a", "ab", "b", "é", "e\u{301}", "\"", "a\\b",
      "a\u{0}",
      "12345678", "123456789", "12345678\u{1}", "2026-05-01T00:00:00.000Z", "true", "1", "\u{10000}", "\u{ffff}",
    ]
    static let names = ["a", "b", "0", "1", "é", "x\"y"]

    mutating func value(depth: Int = 0) -> JSON {
      if depth < 3, numbers.once(in: 3) {
        let children = (0..<numbers.below(4)).map { _ in value(depth: depth + 1) }
        if numbers.once(in: 2) { return .array(children) }
        return .object(JSONObject(children.map { (numbers.one(of: Self.names), $0) }))
      }
      return numbers.one(of: Self.scalars)
    }

    mutating func path() -> [String] {
      if numbers.once(in: 5) { return [numbers.one(of: ["id", "title", "addedAt"])] }
      return ["data"] + (0..<numbers.below(3)).map { _ in numbers.one(of: Self.names) }
    }

    mutating func item(_ id: String) -> JSON {
      var item: JSONObject = ["id": .string(id)]
      if numbers.once(in: 2) { item["title"] = .string(numbers.one(of: ["A", "a", "B\"", ""])) }
      if !numbers.once(in: 5) { item["data"] = value() }
      item["addedAt"] = .string("2026-0\(1 + numbers.below(9))-01T00:00:00.000Z")
      return .object(item)
    }

    static func value(at path: [String], in item: JSON) -> JSON? {
      path.reduce(item) { (value: JSON?, name: String) in
        if case .array(let elements)? = value {
          return elements.indices.first { "\($0)" == name }.map { elements[$0] }
        }
        return value?[name]
      }
    }

    /// The order of two numbers or of two strings.
    static func order(_ left: JSON, _ right: JSON) -> Int? {
      if let left = left.stringValue, let right = right.stringValue {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        return left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
      }
      // All numbers of this test are multiples of one half, or far outside of 64 bits.
      guard let left = twice(left), let right = twice(right) else { return nil }
      return left < right ? -1 : left == right ? 0 : 1
    }

    private static func twice(_ number: JSON) -> Int128? {
      switch number {
      case .integer(let value): Int128(value) * 2
      case .unsigned(let value): Int128(value) * 2
      case .double(let value): abs(value) > 1e30 ? (value < 0 ? .min : .max) : Int128(value * 2)
      default: nil
      }
    }

    static func holds(_ operation: String, _ value: JSON?, _ written: String) -> Bool {
      let json = (try? JSON(parsing: written)) ?? .string(written)
      let text = json.stringValue ?? written
      guard let value else { return operation == "ne" }
      let order = Self.order(value, json)
      switch operation {
      case "eq": return value == json
      case "ne": return value != json
      case "lt": return order == -1
      case "le": return order == -1 || order == 0
      case "gt": return order == 1
      case "ge": return order == 1 || order == 0
      case "in": return json.arrayValue?.contains(value) ?? false
      case "prefix": return value.stringValue.map { Array($0.utf8).starts(with: text.utf8) } ?? false
      default:
        if let elements = value.arrayValue { return elements.contains(json) }
        guard let whole = value.stringValue.map({ Array($0.utf8) }) else { return false }
        let part = Array(text.utf8)
        return (0...whole.count).contains { whole[$0...].starts(with: part) }
      }
    }

    private static func rank(_ value: JSON?) -> Int {
      switch value {
      case .bool(let value): value ? 1 : 0
      case .integer, .unsigned, .double: 2
      case .string: 3
      default: 4
      }
    }

    static func precedes(_ left: JSON, _ right: JSON, _ keys: [(path: [String], isDescending: Bool)]) -> Bool {
      for key in keys {
        let (one, other) = (value(at: key.path, in: left), value(at: key.path, in: right))
        let (rank, otherRank) = (rank(one), rank(other))
        if rank == 4, otherRank == 4 { continue }
        if rank == 4 || otherRank == 4 { return rank < otherRank }
        let order =
          rank != otherRank
          ? (rank < otherRank ? -1 : 1) : one.flatMap { l in other.flatMap { Self.order(l, $0) } } ?? 0
        if order != 0 { return (order < 0) != key.isDescending }
      }
      return false
    }
  }

  @Test("Random queries of random lists equal an evaluation of the parsed elements, one by one")
  func model() throws {
    var model = Model(numbers: SeededNumbers(seed: TestSeed.make(for: "ElementQueryTests.model")))
    let operators = ["eq", "ne", "lt", "le", "gt", "ge", "in", "has", "prefix"]
    var found = 0
    for _ in 0..<150 {
      let count = model.numbers.one(of: [0, 1, 5, 40, 120])
      var list = ListState()
      var items: [JSON] = []
      for index in 0..<count {
        let id = model.numbers.once(in: 20) ? "\"\(index)" : "photo:\(index)"
        items.append(model.item(id))
        list.apply(.inserted(id: id, item: EncodedJSON(items[index]), index: index))
      }
      for _ in 0..<20 {
        var conditions: [(path: [String], operation: String, value: String)] = []
        for _ in 0..<model.numbers.below(4) {
          let operation = model.numbers.one(of: operators)
          let values = (0..<model.numbers.one(of: [0, 1, 4, 20])).map { _ in model.value() }
          let json = operation == "in" ? JSON.array(values) : model.value()
          let isPlain = operation != "in" && model.numbers.once(in: 3)
          conditions.append((model.path(), operation, isPlain ? json.stringValue ?? "\(json)" : "\(json)"))
        }
        let keys = (0..<model.numbers.below(4)).map { _ in (path: model.path(), isDescending: model.numbers.once(in: 2))
        }
        let prefix = model.numbers.one(of: [nil, nil, "photo:1", "\""])
        let query = try ElementQuery(
          conditions: conditions.map { "\($0.path.joined(separator: ".")):\($0.operation):\($0.value)" },
          order: keys.isEmpty
            ? nil : keys.map { ($0.isDescending ? "-" : "") + $0.path.joined(separator: ".") }.joined(separator: ","),
          members: nil
        )
        var expected = items.filter { item in
          conditions.allSatisfy { Model.holds($0.operation, Model.value(at: $0.path, in: item), $0.value) }
            && item["id"]?.stringValue?.utf8.starts(with: (prefix ?? "").utf8) == true
        }
        // An insertion sort is stable.
        for end in expected.indices {
          var place = end
          while place > 0, Model.precedes(expected[place], expected[place - 1], keys) {
            expected.swapAt(place, place - 1)
            place -= 1
          }
        }
        let result = list.items(withPrefix: prefix, matching: query).map(\.encoded)
        let isEqual = result == expected.map { $0.encoded() }
        #expect(isEqual, "\(query.conditionTexts) \(query.orderText ?? "") \(prefix ?? "")")
        found += result.count
        if !isEqual { return }
      }
    }
    #expect(found > 1_000)
  }
}
