/// A response whose head is encoded once and sent many times.
public struct EncodedResponse: Sendable {
  let status: Status
  /// The lines of the head between `Date` and `Connection`.
  let lines: [UInt8]
  /// The body; empty if there is none.
  public let body: [UInt8]

  /// Encodes a response. Nil if its body is a stream.
  public init?(_ response: Response) {
    switch response.body {
    case .none: body = []
    case .bytes(let bytes): body = response.status.forbidsBody ? [] : bytes
    case .stream: return nil
    }
    status = response.status
    var lines: [UInt8] = []
    lines.reserveCapacity(response.fields.bytes.count + 24)
    if !status.forbidsBody { lines.append(contentLength: body.count) }
    lines.append(contentsOf: response.fields.bytes)
    self.lines = lines
  }

  /// The size of the encoded lines and the body.
  public var size: Int { lines.count + body.count }

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
    output.append(contentsOf: lines)
    if !fields.isEmpty { output.append(contentsOf: fields.bytes) }
    ResponseSerializer.appendEnd(for: exchange, to: &output)
    if !exchange.isHead { output.append(contentsOf: body) }
  }
}
