import LockstepTestSupport
import Testing

@testable import LockstepJSON

@Suite("Values at paths in a JSON text", .timeLimit(.minutes(10)))
struct PathFinderTests {
  private static func texts(_ finder: JSONPathFinder, in text: [UInt8]) -> [[UInt8]] {
    var places = Array(repeating: 0..<1, count: finder.count)
    return text.withUnsafeBufferPointer { text in
      places.withUnsafeMutableBufferPointer { places in
        finder.find(in: text, places: places)
        return places.map { Array(text[$0]) }
      }
    }
  }

  /// The paths of all values in a value.
  private static func paths(_ value: JSON, _ path: [String] = []) -> [[String]] {
    let inner: [[String]]
    switch value {
    case .array(let elements): inner = elements.enumerated().flatMap { paths($0.element, path + ["\($0.offset)"]) }
    case .object(let object): inner = object.flatMap { paths($0.value, path + [$0.name]) }
    default: inner = []
    }
    return [path] + inner
  }

  @Test("Random values are found at their paths, and nothing is found elsewhere")
  func random() {
    var random = SeededNumbers(seed: testSeed)
    for _ in 0..<400 {
      let value = JSON.random(depth: 4, using: &random)
      var paths = Self.paths(value).shuffled(using: &random).prefix(12).map { path in
        random.once(in: 6) ? path + [random.one(of: ["x", "0", "é"])] : path
      }
      paths = paths.enumerated().filter { place, path in !paths[..<place].contains(path) }.map(\.element)
      let finder = JSONPathFinder(paths)
      let found = Self.texts(finder, in: value.encoded())
      for (path, text) in zip(paths, found) {
        let expected = (try? JSONPointer(tokens: path).resolve(in: value))?.encoded() ?? []
        #expect(text == expected, "\(path) in \(value)")
      }
    }
  }

  @Test("White space between tokens is skipped")
  func whitespace() {
    let finder = JSONPathFinder([["a", "1"], ["b"], ["c", "d"], ["e"]])
    let text = Array(" {\n\"a\" : [ 1 ,\t2 ] , \"c\":{ \"d\" : { } }, \"b\"\r: \"x y\" } ".utf8)
    #expect(Self.texts(finder, in: text).map { String(decoding: $0, as: UTF8.self) } == ["2", "\"x y\"", "{ }", ""])
  }

  @Test("A damaged text is read to its end at most")
  func damaged() {
    var random = SeededNumbers(seed: testSeed)
    let paths = [[], ["a"], ["a", "b"], ["a", "0"], ["x"], ["0", "0"]]
    let finder = JSONPathFinder(paths)
    for _ in 0..<3_000 {
      var text = JSON.random(depth: 3, using: &random).encoded()
      text = Array(#"{"a":"#.utf8) + text + Array("}".utf8)
      for _ in 0..<(1 + random.below(3)) {
        switch random.below(3) {
        case 0: text.remove(at: random.below(text.count))
        case 1: text.insert(random.one(of: Array(#"{}[]",:\0"#.utf8)), at: random.below(text.count))
        default: text = Array(text.prefix(1 + random.below(text.count)))
        }
        if text.isEmpty { text = [0x22] }
      }
      // A read outside of the exact buffer is found by the address sanitizer.
      for found in Self.texts(finder, in: text) where !found.isEmpty {
        found.withUnsafeBufferPointer { found in
          let value = JSONText(found)
          _ = (value.kind, value.number, value.withString { $0.count }, value.contains { _ in false })
        }
      }
    }
  }

  @Test("Numbers are ordered by their exact values")
  func numbers() throws {
    let ascending: [JSON] = [
      -1e300, -0x1p63, -9_007_199_254_740_993, -9_007_199_254_740_992.0, -1.5, -1, -0.5, 0, 0.5, 1, 1.5,
      9_007_199_254_740_992.0, 9_007_199_254_740_993, .integer(.max), 0x1p63, .unsigned(1 << 63 + 1), .unsigned(.max),
      0x1p64,
      1e300,
    ]
    for (place, one) in ascending.enumerated() {
      for (otherPlace, other) in ascending.enumerated() {
        #expect(one.numericOrder(to: other) == (place - otherPlace).signum(), "\(one) \(other)")
      }
      #expect(one.numericOrder(to: "1") == nil)
      #expect(JSON.null.numericOrder(to: one) == nil)
    }
    #expect(JSON.integer(.min).numericOrder(to: -0x1p63) == 0)
    #expect(JSON.integer(0).numericOrder(to: -0.0) == 0)
    #expect(JSON.unsigned(7).numericOrder(to: 7) == 0)
    #expect(JSON.double(.nan).numericOrder(to: 7) == nil)
    for text in [
      "0", "-0", "17", "-17", "999999999999999999", "1234567890123456789", "1.25", "-1e3", "18446744073709551615",
    ] {
      let number = Array(text.utf8).withUnsafeBufferPointer { JSONText($0).number }
      #expect(number == (try JSON(parsing: text)), "\(text)")
    }
  }
}
