import LockstepJSON
import Testing

@Suite(.timeLimit(.minutes(10))) struct ValueTests {
  @Test("Equal numbers hash the same", arguments: equalNumbers)
  func areEqual(_ left: JSON, _ right: JSON) {
    #expect(left == right)
    #expect(right == left)
    #expect(left.hashValue == right.hashValue)
  }

  @Test("Values that differ are not equal", arguments: differentValues)
  func different(_ left: JSON, _ right: JSON) {
    #expect(left != right)
    #expect(right != left)
  }

  @Test("Objects with another order of members are equal, at any depth")
  func orderOfMembers() {
    let left: JSON = [["a": 1, "b": ["c": 2, "d": [3]]]]
    let right: JSON = [["b": ["d": [3], "c": 2], "a": 1]]
    #expect(left == right)
    #expect(left.hashValue == right.hashValue)
    #expect(left.encoded() != right.encoded())
  }

  @Test("Equal objects are one element of a set")
  func hashesOfObjects() {
    let objects: [JSONObject] = [["a": 1, "b": 2], ["b": 2, "a": 1], ["a": 1, "b": 3]]
    #expect(Set(objects).count == 2)
  }

  @Test("Each accessor gives its own type and nil for the others")
  func accessors() {
    #expect(JSON.null.isNull && !JSON.bool(false).isNull)
    #expect(JSON.bool(true).boolValue == true)
    #expect(JSON.integer(1).boolValue == nil)
    #expect(JSON.string("a").stringValue == "a")
    #expect(JSON.null.stringValue == nil)
    #expect(JSON.array([1]).arrayValue == [1])
    #expect(JSON.object([:]).arrayValue == nil)
    #expect(JSON.object(["a": 1]).objectValue == ["a": 1])
    #expect(JSON.array([]).objectValue == nil)
  }

  @Test("Numbers convert if nothing is lost")
  func numericAccessors() {
    #expect(JSON.double(3).int64Value == 3)
    #expect(JSON.double(3.5).int64Value == nil)
    #expect(JSON.double(1e300).int64Value == nil)
    #expect(JSON.double(.nan).int64Value == nil)
    #expect(JSON.unsigned(.max).int64Value == nil)
    #expect(JSON.unsigned(.max).uint64Value == .max)
    #expect(JSON.integer(-1).uint64Value == nil)
    #expect(JSON.integer(5).intValue == 5)
    #expect(JSON.integer(5).doubleValue == 5)
    #expect(JSON.unsigned(1 << 63).doubleValue == 0x1p63)
    #expect(JSON.string("5").intValue == nil && JSON.string("5").doubleValue == nil)
  }

  @Test("Integers use the case for their size")
  func integerInitializer() {
    #expect(JSON(UInt8(1)).int64Value == 1)
    if case .integer = JSON(UInt64(1)) {} else { Issue.record("a small integer must be signed") }
    if case .unsigned = JSON(UInt64.max) {} else { Issue.record("a large integer must be unsigned") }
    if case .double(18_446_744_073_709_551_616) = JSON(UInt128(UInt64.max) + 1) {
    } else {
      Issue.record("an integer of more than 64 bits must be a double")
    }
  }

  @Test("Subscripts return nil for missing values, and never trap")
  func subscripts() throws {
    let value: JSON = ["a": [10, 20], "b": nil]
    #expect(value["a"]?[1] == 20)
    #expect(value["a"]?[2] == nil as JSON?)
    #expect(value["a"]?[-1] == nil as JSON?)
    #expect(value["c"] == nil as JSON?)
    #expect(value[0] == nil as JSON?)
    let present = try #require(value["b"])
    #expect(present.isNull)
    #expect(value[try JSONPointer(parsing: "/a/0")] == 10)
    #expect(value[try JSONPointer(parsing: "/a/9")] == nil as JSON?)
  }

  @Test("Values of any depth can be measured, written, compared and hashed without stack overflow")
  func deepValues() {
    let (value, equal, different) = (Self.deep, Self.equallyDeep, Self.differentAtTheEnd)
    #expect(value.depth == 200_000)
    #expect(value.encoded().count == value.encodedByteCount)
    // Outside the macro, which would print the values at length on failure.
    let (isEqual, isDifferent) = (value == equal, value != different)
    #expect(isEqual && isDifferent)
    #expect(value.hashValue == equal.hashValue)
  }

  // Never released, because Swift would recurse.
  private static let deep = makeDeep(around: 1)
  private static let equallyDeep = makeDeep(around: 1)
  private static let differentAtTheEnd = makeDeep(around: 2)

  private static func makeDeep(around core: JSON) -> JSON {
    (0..<200_000).reduce(core) { value, level in level.isMultiple(of: 2) ? [value] : ["a": value] }
  }

  static let equalNumbers: [(JSON, JSON)] = [
    (1, 1.0), (0, .double(-0.0)), (.unsigned(5), 5), (.unsigned(1 << 63), .double(0x1p63)), (-3, -3.0),
    (.double(1e15), 1_000_000_000_000_000), (.double(.nan), .double(.nan)), (0.1, 0.1),
    (9_007_199_254_740_992, .double(9_007_199_254_740_992)),
  ]

  static let differentValues: [(JSON, JSON)] = [
    (1, 2), (1, "1"), (1, true), (0, false), (0, nil), ("", nil), ([], [:]), ([1], [1, 1]), ([1, 2], [2, 1]),
    (["a": 1], ["b": 1]), (["a": 1], ["a": 2]), (["a": nil], [:]), (1, 1.5), ("\u{E9}", "e\u{301}"), ("a", "b"),
    (9_007_199_254_740_993, .double(9_007_199_254_740_992)), (.integer(.max), .double(0x1p63)),
    (.unsigned(.max), .double(0x1p64)), (.unsigned(.max), -1), ([["a": [1]]], [["a": [2]]]),
  ]
}
