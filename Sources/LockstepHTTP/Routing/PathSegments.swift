/// A path cut at its slashes, each part percent-decoded once.
///
/// It's cut first and decoded then, so an encoded slash stays inside its part and never makes two of one.
struct PathSegments {
  private let bytes: [UInt8]
  private(set) var places: [Range<Int>] = []

  /// The parts of a request's path: none for `/`, and an empty one where two slashes meet or the last one ends it.
  init(of head: RequestHead) throws(Problem) {
    var decoded: [UInt8]? = nil
    if head.pathPlace.count > 1 {
      if head.bytes[head.pathPlace].contains(UInt8(ascii: "%")) { decoded = [] }
      places.reserveCapacity(6)
    }
    var position = head.pathPlace.lowerBound + 1
    let end = head.pathPlace.upperBound
    while position < end || (position == end && end > head.pathPlace.lowerBound + 1) {
      let next = head.bytes[position..<end].firstIndex(of: UInt8(ascii: "/")) ?? end
      if decoded == nil {
        places.append(position..<next)
      } else {
        let part = try Self.percentDecoded(head.bytes[position..<next])
        let start = decoded?.count ?? 0
        decoded?.append(contentsOf: part)
        places.append(start..<start + part.count)
      }
      position = next + 1
    }
    bytes = decoded ?? head.bytes
  }

  /// The bytes of a part, only for as long as `body` runs.
  func withBytes<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body($0.slice(places[index])) }
  }

  /// A part as text, or a problem when it isn't UTF-8.
  func text(of index: Int) throws(Problem) -> String {
    guard let text = String(validating: bytes[places[index]], as: UTF8.self) else {
      throw Problem(.invalidParameter, detail: "A part of the path isn't UTF-8 once it's percent-decoded.")
    }
    return text
  }

  private static func percentDecoded(_ part: ArraySlice<UInt8>) throws(Problem) -> [UInt8] {
    var output: [UInt8] = []
    var index = part.startIndex
    while index < part.endIndex {
      guard part[index] == UInt8(ascii: "%") else {
        output.append(part[index])
        index += 1
        continue
      }
      guard index + 2 < part.endIndex, let high = part[index + 1].hexValue, let low = part[index + 2].hexValue else {
        throw Problem(.invalidParameter, detail: "The path has a % that two hexadecimal digits don't follow.")
      }
      output.append(high << 4 | low)
      index += 3
    }
    return output
  }
}
