/// The first line of a request: method, target and version (RFC 9112, 3).
struct RequestLine {
  /// The form of the target (RFC 9112, 3.2). A target in absolute form becomes a `path`.
  enum Form: Sendable {
    case path, server, authority
  }

  let method: Method
  let isVersion11: Bool
  let form: Form
  let path: Range<Int>
  let query: Range<Int>

  init(_ bytes: UnsafeRawBufferPointer, end: Int) throws(Problem) {
    let methodEnd = bytes.endOfRun(from: 0, to: end) { $0.isTokenByte }
    guard methodEnd > 0, methodEnd < end, bytes[methodEnd] == UInt8(ascii: " ") else {
      throw .malformed("The request line does not begin with a method and one space.")
    }
    let targetStart = methodEnd + 1
    let targetEnd = bytes.endOfRun(from: targetStart, to: end) { $0.isTargetByte }
    guard targetEnd > targetStart, targetEnd < end, bytes[targetEnd] == UInt8(ascii: " ") else {
      throw .malformed(
        "The method must be followed by a target of visible ASCII and one space. Percent-encode other characters."
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
      throw .malformed("The request line does not end in a version such as HTTP/1.1.")
    }
    guard version[5] == UInt8(ascii: "1") else { throw Problem(.versionNotSupported) }
    return version[7] != UInt8(ascii: "0")
  }

  private static func target(
    _ bytes: UnsafeRawBufferPointer,
    _ range: Range<Int>,
    method: Method
  ) throws(Problem) -> (Form, Range<Int>, Range<Int>) {
    let none = range.upperBound..<range.upperBound
    if method == .other("CONNECT") { return (.authority, none, none) }
    if bytes[range.lowerBound] == UInt8(ascii: "/") { return split(bytes, range) }
    if range.count == 1, bytes[range.lowerBound] == UInt8(ascii: "*") {
      guard method == .options else { throw .malformed("The target * is valid for OPTIONS only.") }
      return (.server, none, none)
    }
    guard let authorityStart = schemeEnd(bytes.slice(range)).map({ range.lowerBound + $0 }) else {
      throw .malformed("The target is neither a path nor an http:// URL.")
    }
    let pathStart = bytes.endOfRun(from: authorityStart, to: range.upperBound) {
      $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?")
    }
    guard let hostLength = Authority.hostLength(in: bytes.slice(authorityStart..<pathStart)) else {
      throw .malformed("The URL in the request line has no valid host and port.")
    }
    // RFC 9110, 4.2.1 requires a host.
    guard hostLength > 0 else { throw .malformed("The URL in the request line has no host.") }
    if pathStart == range.upperBound { return (.path, none, none) }
    return split(bytes, pathStart..<range.upperBound)
  }

  private static func split(
    _ bytes: UnsafeRawBufferPointer,
    _ range: Range<Int>
  ) -> (Form, Range<Int>, Range<Int>) {
    let mark = bytes.endOfRun(from: range.lowerBound, to: range.upperBound) { $0 != UInt8(ascii: "?") }
    let query = min(mark + 1, range.upperBound)..<range.upperBound
    return (.path, range.lowerBound..<mark, query)
  }

  /// Where the authority begins in an absolute target, or nil.
  private static func schemeEnd(_ target: UnsafeRawBufferPointer) -> Int? {
    if target.count > 7, target.slice(0..<7).equalsIgnoringCase("http://") { return 7 }
    if target.count > 8, target.slice(0..<8).equalsIgnoringCase("https://") { return 8 }
    return nil
  }
}
