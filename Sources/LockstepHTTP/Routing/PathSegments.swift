/// The parts of a path. Each is decoded after the path is split, so an encoded slash does not split
/// a part.
package struct PathSegments {
  private let bytes: [UInt8]
  private(set) var places: [Range<Int>] = []

  package var count: Int { places.count }

  /// `/` has no parts. There is an empty part between two slashes and after a slash at the end.
  package init(of head: RequestHead) throws(Problem) {
    var decoded: [UInt8]? = nil
    if head.pathPlace.count > 1 {
      if Self.first("%", in: head, head.pathPlace) < head.pathPlace.upperBound { decoded = [] }
      places.reserveCapacity(6)
    }
    var position = head.pathPlace.lowerBound + 1
    let end = head.pathPlace.upperBound
    while position < end || (position == end && end > head.pathPlace.lowerBound + 1) {
      let next = Self.first("/", in: head, position..<end)
      if decoded == nil {
        places.append(position..<next)
      } else {
        guard let part = PercentEncoding.decoded(head.bytes[position..<next], isQuery: false) else {
          throw Problem(.invalidParameter, detail: "The path has a % without two hexadecimal digits after it.")
        }
        let start = decoded?.count ?? 0
        decoded?.append(contentsOf: part)
        places.append(start..<start + part.count)
      }
      position = next + 1
    }
    bytes = decoded ?? head.bytes
  }

  /// The position of the first such character, or the end of the range.
  private static func first(_ character: Unicode.Scalar, in head: RequestHead, _ range: Range<Int>) -> Int {
    let byte = UInt8(ascii: character)
    return head.bytes.withUnsafeBytes { $0.endOfRun(from: range.lowerBound, to: range.upperBound) { $0 != byte } }
  }

  /// Calls `body` with the bytes of a part, which are valid only during the call.
  func withBytes<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    bytes.withUnsafeBytes { body($0.slice(places[index])) }
  }

  /// A part as text. Throws if it is not UTF-8.
  package func text(of index: Int) throws(Problem) -> String {
    // Nearly every part is ASCII, and validating takes much longer.
    let text = bytes.withUnsafeBytes { bytes in
      let part = bytes.slice(places[index])
      return part.isASCII ? String(decoding: part, as: UTF8.self) : String(validating: part, as: UTF8.self)
    }
    guard let text else {
      throw Problem(.invalidParameter, detail: "A percent-decoded part of the path is not UTF-8.")
    }
    return text
  }
}
