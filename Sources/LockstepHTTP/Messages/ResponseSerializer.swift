/// Writes the head of a response as bytes.
public enum ResponseSerializer {
  /// The properties of the request and its connection that the head depends on.
  public struct Exchange: Sendable {
    /// Whether the method is `HEAD`. If so, the response has the fields of `GET`, but no body.
    package var isHead: Bool
    package var isVersion11: Bool
    /// Whether the connection is kept for another request.
    package var keepsAlive: Bool

    /// An exchange from its parts.
    public init(isHead: Bool, isVersion11: Bool, keepsAlive: Bool) {
      self.isHead = isHead
      self.isVersion11 = isVersion11
      self.keepsAlive = keepsAlive
    }

    /// The exchange that a request begins.
    package init(_ head: RequestHead) {
      self.init(isHead: head.method == .head, isVersion11: head.isVersion11, keepsAlive: head.keepsAlive)
    }
  }

  /// Appends the head of `response`. `dateField` is a whole field line from `HTTPDate`.
  public static func appendHead(
    of response: Response,
    for exchange: Exchange,
    dateField: [UInt8],
    to output: inout [UInt8]
  ) {
    output.append(contentsOf: response.status.line.bytes)
    output.append(contentsOf: dateField)
    appendFraming(of: response, for: exchange, to: &output)
    output.append(contentsOf: response.fields.bytes)
    appendEnd(for: exchange, to: &output)
  }

  /// Appends the field `Connection`, if it is needed, and the end of a head.
  static func appendEnd(for exchange: Exchange, to output: inout [UInt8]) {
    if !exchange.keepsAlive {
      output.append(literal: "Connection: close\r\n")
    } else if !exchange.isVersion11 {
      output.append(literal: "Connection: keep-alive\r\n")
    }
    output.append(literal: "\r\n")
  }

  private static func appendFraming(of response: Response, for exchange: Exchange, to output: inout [UInt8]) {
    guard !response.status.forbidsBody else { return }
    switch response.body {
    case .none:
      output.append(contentLength: 0)
    case .bytes(let bytes):
      output.append(contentLength: bytes.count)
    case .pieces(let pieces):
      output.append(contentLength: pieces.count)
    case .stream:
      if exchange.isVersion11 { output.append(literal: "Transfer-Encoding: chunked\r\n") }
    }
  }
}

extension [UInt8] {
  mutating func append(literal: StaticString) {
    append(contentsOf: literal.bytes)
  }

  mutating func append(contentLength: Int) {
    append(literal: "Content-Length: ")
    append(decimal: contentLength)
    append(literal: "\r\n")
  }

  /// Appends a number of at least 0 in decimal, without making a string.
  mutating func append(decimal number: Int) {
    if number >= 10 { append(decimal: number / 10) }
    append(UInt8(ascii: "0") + UInt8(number % 10))
  }

  /// Appends a chunk of the chunked coding. Skips an empty chunk, because it would end the body.
  public mutating func append(chunk: [UInt8]) {
    guard !chunk.isEmpty else { return }
    append(contentsOf: String(chunk.count, radix: 16).utf8)
    append(literal: "\r\n")
    append(contentsOf: chunk)
    append(literal: "\r\n")
  }

  /// Appends the end of the chunked coding.
  public mutating func appendLastChunk() {
    append(literal: "0\r\n\r\n")
  }
}
