import LockstepJSON
import LockstepTestSupport
import Testing

@Suite("Texts as keys", .timeLimit(.minutes(10)))
struct ExactTextTests {
  @Test("Texts that Unicode considers equal are different keys")
  func equivalent() {
    for (first, other) in [
      ("\u{E9}", "e\u{301}"), ("K", "\u{212A}"), (";", "\u{37E}"), ("\u{1E69}", "s\u{307}\u{323}"),
    ] {
      #expect(first == other && first.exact != other.exact)
      #expect(Set([first.exact, other.exact, first.exact]).count == 2)
      #expect([first: 1][other] == 1 && [first.exact: 1][other.exact] == nil)
      #expect([first].containsBytes(of: first) && ![first].containsBytes(of: other))
    }
  }

  @Test("Keys are equal, ordered and found as their bytes are")
  func bytes() throws {
    var random = SeededNumbers(seed: testSeed)
    // Short texts of few characters are often equal.
    let scalars: [Unicode.Scalar] = ["e", "\u{301}", "\u{E9}", "K", "\u{212A}"]
    let texts = (0..<400).map { _ in
      var text = String.UnicodeScalarView()
      for _ in 0..<random.below(5) { text.append(random.one(of: scalars)) }
      return String(text)
    }
    var places: [ExactText: Int] = [:]
    for (place, text) in texts.enumerated() { places[text.exact] = place }
    #expect(places.count == Set(texts.map { Array($0.utf8) }).count)
    for (place, text) in texts.enumerated() {
      let found = try #require(places[text.exact])
      try #require(Array(texts[found].utf8) == Array(text.utf8), "seed \(testSeed)")
      let other = texts[(place + 1) % texts.count]
      let isLess = Array(text.utf8).lexicographicallyPrecedes(Array(other.utf8))
      try #require((text.exact < other.exact) == isLess, "seed \(testSeed)")
    }
  }
}
