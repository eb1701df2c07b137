/// A response that is encoded once and sent many times.
public struct EncodedResponse: Sendable {
  private let status: Status
  /// The lines of the head between `Date` and `Connection`, the end of the head, and the body.
  private let bytes: [UInt8]
  /// Where the lines end.
  private let linesEnd: Int

  private static let endOfHead = Array("\r\n".utf8)

  /// Encodes a response. Nil if its body is a stream, or in pieces.
  public init?(_ response: Response) {
    var body: [UInt8] = []
    switch response.body {
    case .none: break
    case .bytes(let bytes): if !response.status.forbidsBody { body = bytes }
    case .pieces, .stream: return nil
    }
    status = response.status
    var bytes: [UInt8] = []
    bytes.reserveCapacity(response.fields.bytes.count + body.count + 28)
    if !status.forbidsBody { bytes.append(contentLength: body.count) }
    bytes.append(contentsOf: response.fields.bytes)
    linesEnd = bytes.count
    bytes.append(contentsOf: Self.endOfHead)
    bytes.append(contentsOf: body)
    self.bytes = bytes
  }

  /// The size of the encoded lines and the body.
  public var size: Int { bytes.count }

  /// Appends the head, with additional fields, and the body. `dateField` is a whole field line from
  /// `HTTPDate`.
  public func append(
    adding fields: HeaderFields,
    for exchange: ResponseSerializer.Exchange,
    dateField: [UInt8],
    to output: inout [UInt8]
  ) {
    output.append(contentsOf: status.line.bytes)
    output.append(contentsOf: dateField)
    // Usually one copy is enough.
    if fields.isEmpty, exchange.isVersion11, exchange.keepsAlive, !exchange.isHead {
      return output.append(contentsOf: bytes)
    }
    output.append(contentsOf: bytes[..<linesEnd])
    output.append(contentsOf: fields.bytes)
    ResponseSerializer.appendEnd(for: exchange, to: &output)
    if !exchange.isHead { output.append(contentsOf: bytes[(linesEnd + Self.endOfHead.count)...]) }
  }
}
