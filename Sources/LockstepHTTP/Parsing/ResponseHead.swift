/// The head of a response that another server has sent to this one.
package struct ResponseHead: Sendable {
  /// How this server finds the end of the body.
  package enum Body: Sendable, Equatable {
    case none
    /// A body of this many bytes, at least one.
    case length(Int)
    case chunked
    /// The body ends when the other server closes the connection.
    case untilEnd
  }

  /// The bytes are not a response that this server understands.
  package struct Malformed: Error {}

  package let status: Status
  /// The fields without those of the connection and of the framing.
  package let fields: HeaderFields
  package let body: Body
  /// Whether the body is a stream of server-sent events.
  package let isEventStream: Bool

  /// The largest head, in bytes.
  package static let longest = 64 * 1024

  /// Parses a head at the beginning of `bytes`. Returns it with its length, or nil if it is
  /// incomplete.
  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> (ResponseHead, length: Int)? {
    var lines: [Range<Int>] = []
    var start = 0
    while let lineFeed = bytes.firstLineFeed(from: start) {
      guard lineFeed < longest, lineFeed > start, bytes[lineFeed - 1] == UInt8(ascii: "\r") else { throw Malformed() }
      if lineFeed - 1 == start { return (try ResponseHead(bytes, lines), lineFeed + 1) }
      lines.append(start..<lineFeed - 1)
      start = lineFeed + 1
    }
    guard bytes.count < longest else { throw Malformed() }
    return nil
  }

  private init(_ bytes: UnsafeRawBufferPointer, _ lines: [Range<Int>]) throws(Malformed) {
    guard let first = lines.first, let status = Self.status(bytes.slice(first)) else { throw Malformed() }
    self.status = status
    var kept: [UInt8] = []
    var length: Int?
    var isChunked = false
    var isEventStream = false
    for line in lines.dropFirst() {
      guard let place = try? RequestHead.FieldPlace(in: bytes, line) else { throw Malformed() }
      let (name, value) = (bytes.slice(place.name), bytes.slice(place.value))
      if FieldName.contentLength.matches(name) {
        guard length == nil, let number = Self.number(value) else { throw Malformed() }
        length = number
      } else if FieldName.transferEncoding.matches(name) {
        guard !isChunked, value.equalsIgnoringCase("chunked") else { throw Malformed() }
        isChunked = true
      } else if !Self.isOfConnection(name) {
        if FieldName.contentType.matches(name) { isEventStream = value.behind(prefix: "text/event-stream") != nil }
        kept += name
        kept += [UInt8(ascii: ":"), UInt8(ascii: " ")]
        kept += value
        kept += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
      }
    }
    // With both fields, two servers could see different ends of the body (RFC 9112, 6.3).
    guard !isChunked || length == nil else { throw Malformed() }
    fields = HeaderFields(recorded: kept)
    self.isEventStream = isEventStream
    if status.forbidsBody || length == 0 {
      body = .none
    } else if isChunked {
      body = .chunked
    } else {
      body = length.map { .length($0) } ?? .untilEnd
    }
  }

  /// The status in `HTTP/1.1 200 OK`; nil if this server does not know it.
  private static func status(_ line: UnsafeRawBufferPointer) -> Status? {
    guard line.count >= 12, line.slice(0..<7).equals("HTTP/1."), line[7].isDigit, line[8] == UInt8(ascii: " "),
      line.count == 12 || line[12] == UInt8(ascii: " "), let code = number(line.slice(9..<12))
    else { return nil }
    return Status(code: code)
  }

  private static func number(_ digits: UnsafeRawBufferPointer) -> Int? {
    guard (1...15).contains(digits.count), digits.allSatisfy(\.isDigit) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  private static let connectionFields: [FieldName] = [
    .connection, .date, "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Upgrade",
  ]

  private static func isOfConnection(_ name: UnsafeRawBufferPointer) -> Bool {
    connectionFields.contains { $0.matches(name) }
  }
}
