import LockstepJSON
import LockstepTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct PropertyTests {
  @Test("Written values parse as the same value and are written the same again")
  func roundTrip() throws {
    var random = SeededNumbers(seed: testSeed)
    for _ in 0..<2_000 {
      let value = JSON.random(depth: 5, using: &random)
      let text = value.encoded()
      try #require(text.count == value.encodedByteCount, "seed \(testSeed)")
      let again = try JSON(parsing: text)
      try #require(again == value, "seed \(testSeed): \(value)")
      try #require(again.encoded() == text, "seed \(testSeed): \(value)")
      try #require(again.hashValue == value.hashValue, "seed \(testSeed): \(value)")
    }
  }

  @Test("Every double parses to the same bits")
  func doubles() throws {
    var random = SeededNumbers(seed: testSeed)
    for _ in 0..<20_000 {
      let value = Double(bitPattern: random.next())
      guard value.isFinite else { continue }
      try #require(
        try JSON(parsing: JSON.double(value).encoded()).doubleValue?.bitPattern == value.bitPattern,
        "seed \(testSeed)"
      )
    }
  }

  @Test("Every decimal parses as in Swift")
  func decimals() throws {
    var random = SeededNumbers(seed: testSeed)
    for _ in 0..<20_000 {
      let digits = String(random.next() >> UInt64.random(in: 0..<64, using: &random))
      let text = "\(digits).\(random.next() % 1000)e\(Int.random(in: -40...40, using: &random))"
      try #require(try JSON(parsing: text).doubleValue == Double(text), "seed \(testSeed): \(text)")
    }
  }

  @Test("Text with one changed byte is accepted or rejected, and never crashes")
  func damagedTexts() throws {
    var random = SeededNumbers(seed: testSeed)
    for _ in 0..<5_000 {
      var text = JSON.random(depth: 3, using: &random).encoded()
      text[Int.random(in: 0..<text.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      do {
        let value = try JSON(parsing: text)
        try #require(try JSON(parsing: value.encoded()) == value, "seed \(testSeed)")
      } catch let error as JSONParseError {
        try #require((0...text.count).contains(error.byteOffset), "seed \(testSeed)")
      }
    }
  }

  @Test("Every incomplete prefix of a text is rejected")
  func cutTexts() throws {
    let text = Array(#"{"a":[1.5e3,"é\u00e9\ud83c\udf0c",true,null,{"b":{}}],"c":-0.5}"#.utf8)
    for length in 0..<text.count {
      #expect(throws: JSONParseError.self) { try JSON(parsing: Array(text[..<length])) }
    }
    #expect(throws: Never.self) { try JSON(parsing: text) }
  }
}
