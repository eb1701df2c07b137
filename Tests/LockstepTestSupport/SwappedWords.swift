/// Pairs of words that each `RawClient` swaps in everything it sends and receives. So a test about
/// some collections becomes a test about others. The words of a pair have the same length, because
/// requests have a `Content-Length`.
public struct SwappedWords: Sendable {
  /// The words of the present task.
  @TaskLocal public static var current: SwappedWords?

  private let pairs: [(word: [UInt8], other: [UInt8])]

  /// Each pair has the word in the test and the word that the server gets. All are ASCII.
  public init(_ pairs: KeyValuePairs<String, String>) {
    self.pairs = pairs.flatMap { word, other in
      precondition(word.utf8.count == other.utf8.count, "The words have different lengths.")
      return [(Array(word.utf8), Array(other.utf8)), (Array(other.utf8), Array(word.utf8))]
    }
  }

  /// The text with each word in the other's place.
  public func swapping(_ text: String) -> String { String(decoding: swapping(Array(text.utf8)), as: UTF8.self) }

  /// The bytes with each word in the other's place.
  public func swapping(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    var place = 0
    while place < bytes.count {
      let found = pairs.first { word, _ in
        bytes[place] == word[0] && bytes[place...].starts(with: word)
      }
      guard let (word, other) = found else {
        place += 1
        continue
      }
      bytes.replaceSubrange(place..<(place + word.count), with: other)
      place += word.count
    }
    return bytes
  }
}

extension RawResponse {
  /// The response with the words of the present task swapped.
  public var swapped: RawResponse {
    guard let words = SwappedWords.current else { return self }
    return RawResponse(
      status: status,
      fields: fields.map { words.swapping($0) },
      body: words.swapping(body)
    )
  }
}
