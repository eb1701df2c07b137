/// Two words that each `RawClient` swaps in everything it sends and receives. So a test about one
/// collection becomes a test about another one. The words have the same length, because requests have a
/// `Content-Length`.
public struct SwappedWords: Sendable {
  /// The words of the present task.
  @TaskLocal public static var current: SwappedWords?

  /// The first word, as it stands in the test.
  public let word: [UInt8]
  /// The other word, as the server sees it.
  public let other: [UInt8]

  /// Both words, which are ASCII.
  public init(_ word: String, _ other: String) {
    precondition(word.utf8.count == other.utf8.count, "The words have different lengths.")
    (self.word, self.other) = (Array(word.utf8), Array(other.utf8))
  }

  /// The bytes with each word in the other's place.
  public func swapping(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    var place = 0
    while place + word.count <= bytes.count {
      let part = bytes[place..<(place + word.count)]
      if part.elementsEqual(word) {
        bytes.replaceSubrange(place..<(place + word.count), with: other)
      } else if part.elementsEqual(other) {
        bytes.replaceSubrange(place..<(place + word.count), with: word)
      } else {
        place += 1
        continue
      }
      place += word.count
    }
    return bytes
  }
}

extension RawResponse {
  /// The response with the words of the present task swapped.
  var swapped: RawResponse {
    guard let words = SwappedWords.current else { return self }
    return RawResponse(
      status: status,
      fields: fields.map { String(decoding: words.swapping(Array($0.utf8)), as: UTF8.self) },
      body: words.swapping(body)
    )
  }
}
