/// Finds where a request's head ends, however its bytes arrive, and refuses what grows past the bounds.
///
/// It looks at every byte once: what was scanned isn't scanned again when more arrives. It is an automaton over the
/// bytes alone, so where they were cut on their way changes nothing.
struct HeadScanner {
  /// Where the request line begins: after empty lines, which RFC 9112, 2.2 says to pass over.
  private(set) var start = 0
  /// How many bytes of empty lines were taken out already.
  private var taken = 0
  private var position = 0
  private var lineStart = 0
  private var requestLineEnd: Int?
  private var fields = 0

  /// Whether nothing was scanned yet.
  var isAtStart: Bool { position == 0 && taken == 0 }

  /// The length of the head in `bytes`, from `start` to behind its empty line, or nil while that isn't there yet.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, bounds: ParserLimits) throws(Problem) -> Int? {
    if requestLineEnd == nil, position == start {
      try skipEmptyLines(bytes, bounds: bounds)
      guard try beginsWithMethod(bytes) else { return nil }
    }
    while let lineFeed = bytes.firstLineFeed(from: position) {
      // What is too long was so before its end came, whatever the end is.
      try checkUnfinishedLine(upTo: lineFeed, bounds: bounds)
      guard lineFeed > lineStart, bytes[lineFeed - 1] == UInt8(ascii: "\r") else {
        throw .malformed("A line of the head ends in a bare line feed; lines end in CR LF.")
      }
      let isEmpty = lineFeed - 1 == lineStart
      if requestLineEnd == nil { try checkVersion(bytes, endingAt: lineFeed - 1) }
      try countLine(upTo: lineFeed + 1, isEmpty: isEmpty, bounds: bounds)
      lineStart = lineFeed + 1
      position = lineStart
      if isEmpty { return lineStart - start }
    }
    position = bytes.count
    try checkUnfinishedLine(upTo: bytes.count, bounds: bounds)
    return nil
  }

  /// How many bytes of empty lines were passed over. They are taken to be gone from then on.
  mutating func takeEmptyLines() -> Int {
    let count = start
    taken += count
    start = 0
    position -= count
    lineStart -= count
    requestLineEnd = requestLineEnd.map { $0 - count }
    return count
  }

  private mutating func skipEmptyLines(_ bytes: UnsafeRawBufferPointer, bounds: ParserLimits) throws(Problem) {
    // However far it comes: half a line end may be all there is, and the scan goes on behind the last whole one.
    defer {
      position = start
      lineStart = start
    }
    while start < bytes.count, bytes[start] == UInt8(ascii: "\r") {
      guard start + 1 < bytes.count else { return }
      guard bytes[start + 1] == UInt8(ascii: "\n") else {
        throw .malformed("The request begins with a bare carriage return.")
      }
      start += 2
      guard taken + start <= bounds.requestLine else {
        throw .malformed("Only empty lines came where a request was due.")
      }
    }
  }

  /// Whether the first byte is there and can begin a method: says at once what a head without line ends would hide.
  private func beginsWithMethod(_ bytes: UnsafeRawBufferPointer) throws(Problem) -> Bool {
    guard start < bytes.count, bytes[start] != UInt8(ascii: "\r") else { return false }
    if bytes[start].isTokenByte { return true }
    if bytes[start] == 0x16 {
      throw .malformed("This looks like TLS; this port speaks plain HTTP.")
    }
    throw .malformed("A request begins with a method; this one begins with the byte \(bytes[start]).")
  }

  /// A request line without a version is all there is of an HTTP/0.9 request: whoever sent it waits for the answer now
  /// and would never end the head. What else is wrong with the line can wait until the head is there.
  private func checkVersion(_ bytes: UnsafeRawBufferPointer, endingAt end: Int) throws(Problem) {
    if end - start >= 9, bytes.slice(end - 9..<end - 3).equals(" HTTP/") { return }
    _ = try RequestLine(bytes.slice(start..<end), end: end - start)
  }

  private mutating func countLine(upTo end: Int, isEmpty: Bool, bounds: ParserLimits) throws(Problem) {
    guard let requestLineEnd else {
      self.requestLineEnd = end
      return
    }
    guard end - requestLineEnd <= bounds.headerSection + 2 else { throw .headersTooLarge(bounds) }
    guard !isEmpty else { return }
    fields += 1
    guard fields <= bounds.headerFields else { throw .headersTooLarge(bounds) }
  }

  private func checkUnfinishedLine(upTo end: Int, bounds: ParserLimits) throws(Problem) {
    if let requestLineEnd {
      // The two bytes are those of the empty line that ends the section.
      guard end - requestLineEnd <= bounds.headerSection + 2 else { throw .headersTooLarge(bounds) }
    } else {
      // One byte more may be there already: the carriage return that ends the line.
      guard end - start <= bounds.requestLine + 1 else { throw .uriTooLong(bounds) }
    }
  }
}
