/// Finds the end of a request's head, which may arrive in pieces, and enforces the limits. Each
/// call of `scan` continues where the previous one ended.
struct HeadScanner {
  /// Where the request line begins: after empty lines, which RFC 9112, 2.2 says to skip.
  private(set) var start = 0
  /// How many bytes of empty lines have been removed already.
  private var taken = 0
  private var position = 0
  private var lineStart = 0
  private var requestLineEnd: Int?
  private var fields = 0

  var isAtStart: Bool { position == 0 && taken == 0 }

  /// The length of the head from `start`; nil until the empty line at its end has arrived.
  mutating func scan(_ bytes: UnsafeRawBufferPointer, bounds: ParserLimits) throws(Problem) -> Int? {
    if requestLineEnd == nil, position == start {
      try skipEmptyLines(bytes, bounds: bounds)
      guard try beginsWithMethod(bytes) else { return nil }
    }
    while let lineFeed = bytes.firstLineFeed(from: position) {
      try checkLength(upTo: lineFeed, bounds)
      guard lineFeed > lineStart, bytes[lineFeed - 1] == UInt8(ascii: "\r") else {
        throw .malformed("A line of the head ends in a bare line feed; lines end in CR LF.")
      }
      let isEmpty = lineFeed - 1 == lineStart
      lineStart = lineFeed + 1
      position = lineStart
      if requestLineEnd == nil {
        requestLineEnd = lineStart
        try checkVersion(bytes, endingAt: lineStart - 2)
      } else {
        if isEmpty { return lineStart - start }
        fields += 1
        guard fields <= bounds.headerFields else { throw .headersTooLarge(bounds) }
      }
    }
    position = bytes.count
    try checkLength(upTo: bytes.count, bounds)
    return nil
  }

  /// Returns the size of the empty lines before the head and forgets them. The caller's next buffer
  /// must begin after them.
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
    // If only half a line end has arrived, the next scan begins with it.
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
        throw .malformed("The client sent only empty lines instead of a request.")
      }
    }
  }

  /// Refuses another protocol by its first byte, because a line end may never follow.
  private func beginsWithMethod(_ bytes: UnsafeRawBufferPointer) throws(Problem) -> Bool {
    guard start < bytes.count, bytes[start] != UInt8(ascii: "\r") else { return false }
    if bytes[start].isTokenByte { return true }
    if bytes[start] == 0x16 { throw .malformed("This looks like TLS, but this port serves plain HTTP.") }
    throw .malformed("A request begins with a method; this one begins with the byte \(bytes[start]).")
  }

  /// Refuses a request line without a version at once, because an HTTP/0.9 client sends nothing
  /// more. Other faults of the line are reported when the head is complete.
  private func checkVersion(_ bytes: UnsafeRawBufferPointer, endingAt end: Int) throws(Problem) {
    if end - start >= 9, bytes.slice(end - 9..<end - 3).equals(" HTTP/") { return }
    _ = try RequestLine(bytes.slice(start..<end), end: end - start)
  }

  /// Checks the length of the head up to a line feed, or up to the end of an incomplete line.
  private func checkLength(upTo end: Int, _ bounds: ParserLimits) throws(Problem) {
    if let requestLineEnd {
      // `+ 2`, because the empty line at the end does not count.
      guard end - requestLineEnd < bounds.headerSection + 2 else { throw .headersTooLarge(bounds) }
    } else {
      // `+ 1`, because the carriage return does not count.
      guard end - start <= bounds.requestLine + 1 else { throw .uriTooLong(bounds) }
    }
  }
}
