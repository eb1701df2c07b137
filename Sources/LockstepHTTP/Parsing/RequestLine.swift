/// The first line of a request, taken apart: method, target and version (RFC 9112, 3).
struct RequestLine {
  let method: Method
  let isVersion11: Bool
  let form: RequestHead.TargetForm
  let path: Range<Int>
  let query: Range<Int>

  init(_ bytes: UnsafeRawBufferPointer, end: Int) throws(Problem) {
    var methodEnd = 0
    while methodEnd < end, bytes[methodEnd].isTokenByte { methodEnd += 1 }
    guard methodEnd > 0, methodEnd < end, bytes[methodEnd] == UInt8(ascii: " ") else {
      throw .malformed("The request line has no method followed by one space.")
    }
    let targetStart = methodEnd + 1
    var targetEnd = targetStart
    while targetEnd < end, bytes[targetEnd].isTargetByte { targetEnd += 1 }
    guard targetEnd > targetStart, targetEnd < end, bytes[targetEnd] == UInt8(ascii: " ") else {
      throw .malformed(
        "The request line has no target of visible ASCII followed by one space; other characters are percent-encoded."
      )
    }
    method = Method(bytes.slice(0..<methodEnd))
    isVersion11 = try Self.isVersion11(bytes.slice(targetEnd + 1..<end))
    (form, path, query) = try Self.target(bytes, targetStart..<targetEnd, method: method)
  }

  private static func isVersion11(_ version: UnsafeRawBufferPointer) throws(Problem) -> Bool {
    guard version.count == 8, version.slice(0..<5).equals("HTTP/"), version[5].isDigit,
      version[6] == UInt8(ascii: "."), version[7].isDigit
    else {
      throw .malformed("The request line doesn't end in a version such as HTTP/1.1.")
    }
    guard version[5] == UInt8(ascii: "1") else { throw Problem(.versionNotSupported) }
    return version[7] != UInt8(ascii: "0")
  }

  private static func target(
    _ bytes: UnsafeRawBufferPointer,
    _ range: Range<Int>,
    method: Method
  ) throws(Problem) -> (RequestHead.TargetForm, Range<Int>, Range<Int>) {
    let none = range.upperBound..<range.upperBound
    if method == .other("CONNECT") { return (.authority, none, none) }
    if bytes[range.lowerBound] == UInt8(ascii: "/") { return split(bytes, range) }
    if range.count == 1, bytes[range.lowerBound] == UInt8(ascii: "*") {
      guard method == .options else { throw .malformed("The target * goes with OPTIONS only.") }
      return (.server, none, none)
    }
    guard let authorityStart = schemeEnd(bytes.slice(range)).map({ range.lowerBound + $0 }) else {
      throw .malformed("The target is neither a path nor an http:// URL.")
    }
    var pathStart = authorityStart
    while pathStart < range.upperBound, bytes[pathStart] != UInt8(ascii: "/"), bytes[pathStart] != UInt8(ascii: "?") {
      pathStart += 1
    }
    guard let hostLength = Authority.hostLength(in: bytes.slice(authorityStart..<pathStart)) else {
      throw .malformed("The host in the target's URL isn't a host and a port.")
    }
    // A URL of ours without a host must be refused (RFC 9110, 4.2.1).
    guard hostLength > 0 else { throw .malformed("The target's URL names no host.") }
    if pathStart == range.upperBound { return (.path, none, none) }
    return split(bytes, pathStart..<range.upperBound)
  }

  private static func split(
    _ bytes: UnsafeRawBufferPointer,
    _ range: Range<Int>
  ) -> (RequestHead.TargetForm, Range<Int>, Range<Int>) {
    var mark = range.lowerBound
    while mark < range.upperBound, bytes[mark] != UInt8(ascii: "?") { mark += 1 }
    let query = min(mark + 1, range.upperBound)..<range.upperBound
    return (.path, range.lowerBound..<mark, query)
  }

  /// Where the authority begins in an absolute target.
  private static func schemeEnd(_ target: UnsafeRawBufferPointer) -> Int? {
    if target.count > 7, target.slice(0..<7).equalsIgnoringCase("http://") { return 7 }
    if target.count > 8, target.slice(0..<8).equalsIgnoringCase("https://") { return 8 }
    return nil
  }
}
