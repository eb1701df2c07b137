/// Parses the request heads of one connection, which may arrive in pieces of any size (RFC 9112).
/// After a problem, the start of the next request is unknown, so the connection must close.
public struct RequestParser: Sendable {
  /// The result of `parse(_:)`.
  public enum Outcome: Sendable {
    case incomplete
    /// A head, and how many bytes of the buffer it used.
    case head(RequestHead, consumed: Int)
    /// A head that the caller knows, and how many bytes of the buffer it used.
    case known(consumed: Int)
  }

  private let bounds: ParserLimits
  private var scanner = HeadScanner()

  /// A parser with these limits.
  public init(limits: Limits) {
    bounds = ParserLimits(limits)
  }

  /// Returns how many bytes of empty lines precede an incomplete head. The caller must remove them.
  public mutating func takeEmptyLines() -> Int { scanner.takeEmptyLines() }

  /// Parses all bytes since the end of the last request: those of earlier calls and the new ones.
  ///
  /// `isKnown` gets the bytes of a whole head. If the caller has a head that a parser with the same
  /// limits made from equal bytes, it returns true, and the bytes are not parsed again.
  public mutating func parse(
    _ bytes: UnsafeRawBufferPointer,
    isKnown: (UnsafeRawBufferPointer) -> Bool = { _ in false }
  ) throws(Problem) -> Outcome {
    // Nearly always the bytes are one whole head, and no scan is needed to find its end.
    let isWhole = scanner.isAtStart && bytes.endsInEmptyLine
    if isWhole, isKnown(bytes) { return .known(consumed: bytes.count) }
    guard let length = try scanner.scan(bytes, bounds: bounds) else { return .incomplete }
    let start = scanner.start
    scanner = HeadScanner()
    let head = bytes.slice(start..<start + length)
    if !isWhole || length < bytes.count, isKnown(head) { return .known(consumed: start + length) }
    return .head(try Self.head(head), consumed: start + length)
  }

  private static func head(_ bytes: UnsafeRawBufferPointer) throws(Problem) -> RequestHead {
    let lineEnd = bytes.endOfLine(from: 0)
    let line = try RequestLine(bytes, end: lineEnd)
    var framing = Framing()
    var places: [RequestHead.FieldPlace] = []
    places.reserveCapacity(12)
    var position = lineEnd + 2
    while position < bytes.count - 2 {
      let end = bytes.endOfLine(from: position)
      let place = try RequestHead.FieldPlace(in: bytes, position..<end)
      try framing.note(name: bytes.slice(place.name), value: bytes.slice(place.value))
      places.append(place)
      position = end + 2
    }
    return try RequestHead(line: line, framing: framing, bytes: Array(bytes), fieldPlaces: places)
  }
}

/// The limits of the parsers. Every connection keeps a copy, so the copy has only the limits that a
/// parser needs.
struct ParserLimits: Sendable {
  let requestLine: Int
  let headerSection: Int
  let headerFields: Int
  let chunkLine: Int

  init(_ limits: Limits) {
    requestLine = limits.requestLine
    headerSection = limits.headerSection
    headerFields = limits.headerFields
    chunkLine = limits.chunkLine
  }
}

extension RequestHead.FieldPlace {
  /// Parses a field line: a name, a colon directly after it, and a value (RFC 9112, 5).
  init(in bytes: UnsafeRawBufferPointer, _ line: Range<Int>) throws(Problem) {
    let colon = bytes.endOfRun(from: line.lowerBound, to: line.upperBound) { $0.isTokenByte }
    guard colon < line.upperBound, bytes[colon] == UInt8(ascii: ":"), colon > line.lowerBound else {
      throw .malformed(Self.reason(bytes, line, at: colon))
    }
    let value = bytes.trimmed(colon + 1..<line.upperBound)
    if let index = bytes.firstControl(in: value) {
      let name = String(decoding: bytes.slice(line.lowerBound..<colon), as: UTF8.self)
      throw .malformed("The value of the field \(name) has a control character (byte \(bytes[index])).")
    }
    self.init(name: line.lowerBound..<colon, value: value)
  }

  private static func reason(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>, at index: Int) -> String {
    if bytes[line.lowerBound].isSpaceOrTab {
      return "A header line begins with a space or a tab. This server refuses folded and indented lines."
    }
    if index == line.upperBound { return "A header line has no colon." }
    if bytes[index] == UInt8(ascii: ":") { return "A header field has no name." }
    if bytes[index].isSpaceOrTab { return "There is a space between the name of a header field and its colon." }
    return "The name of a header field has a byte that is not allowed in names (\(bytes[index]))."
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var endsInEmptyLine: Bool { count > 4 && slice(count - 4..<count).equals("\r\n\r\n") }

  /// The position of the line's CR LF. `HeadScanner` has checked that every line feed follows a
  /// carriage return. Parsing the line refuses any other carriage return.
  fileprivate func endOfLine(from start: Int) -> Int {
    (firstLineFeed(from: start) ?? count) - 1
  }
}
