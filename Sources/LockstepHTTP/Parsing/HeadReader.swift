/// Reads a whole head: the request line, each field, and what the fields say about framing.
enum HeadReader {
  static func read(_ bytes: UnsafeRawBufferPointer) throws(Problem) -> RequestHead {
    let lineEnd = bytes.endOfLine(from: 0)
    let line = try RequestLine(bytes, end: lineEnd)
    var framing = Framing()
    var places: [RequestHead.FieldPlace] = []
    places.reserveCapacity(12)
    var position = lineEnd + 2
    while position < bytes.count - 2 {
      let end = bytes.endOfLine(from: position)
      let place = try fieldPlace(in: bytes, position..<end)
      try framing.note(name: bytes.slice(place.name), value: bytes.slice(place.value))
      places.append(place)
      position = end + 2
    }
    let body = try framing.body(isVersion11: line.isVersion11)
    try framing.checkHost(isVersion11: line.isVersion11)
    return RequestHead(
      line: line,
      body: body,
      keepsAlive: line.isVersion11 ? !framing.wantsClose : framing.wantsKeepAlive && !framing.wantsClose,
      expectsContinue: framing.expectsContinue && line.isVersion11 && body != .none,
      bytes: Array(bytes),
      fieldPlaces: places
    )
  }

  /// A field line: a name, a colon right behind it, and a value (RFC 9112, 5).
  static func fieldPlace(
    in bytes: UnsafeRawBufferPointer,
    _ line: Range<Int>
  ) throws(Problem) -> RequestHead.FieldPlace {
    var colon = line.lowerBound
    while colon < line.upperBound, bytes[colon].isTokenByte { colon += 1 }
    guard colon < line.upperBound, bytes[colon] == UInt8(ascii: ":"), colon > line.lowerBound else {
      throw .malformed(whyNoField(bytes, line, at: colon))
    }
    var first = colon + 1
    var last = line.upperBound
    while first < last, bytes[first].isSpaceOrTab { first += 1 }
    while last > first, bytes[last - 1].isSpaceOrTab { last -= 1 }
    for index in first..<last where !bytes[index].isFieldValueByte {
      let name = String(decoding: bytes.slice(line.lowerBound..<colon), as: UTF8.self)
      throw .malformed("The value of the field \(name) has a control character (byte \(bytes[index])).")
    }
    return RequestHead.FieldPlace(name: line.lowerBound..<colon, value: first..<last)
  }

  private static func whyNoField(_ bytes: UnsafeRawBufferPointer, _ line: Range<Int>, at index: Int) -> String {
    if bytes[line.lowerBound].isSpaceOrTab {
      return "A header field is folded over two lines, or the first is indented; both are refused."
    }
    if index == line.upperBound { return "A header line has no colon." }
    if bytes[index] == UInt8(ascii: ":") { return "A header field has no name." }
    if bytes[index].isSpaceOrTab { return "There is a space between a header field's name and its colon." }
    return "The name of a header field has a byte that none may have (\(bytes[index]))."
  }
}

extension UnsafeRawBufferPointer {
  /// Where the line's CR LF begins. The scanner made sure that every line feed has its carriage return before it;
  /// a carriage return elsewhere stays in the line, and whoever reads the line refuses it.
  fileprivate func endOfLine(from start: Int) -> Int {
    (firstLineFeed(from: start) ?? count) - 1
  }
}
