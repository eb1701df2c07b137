/// What a head's fields say about the body's end and the connection, gathered field by field.
///
/// Whatever could be read in two ways is refused: a second reading is how requests are smuggled (RFC 9112, 11.2).
struct Framing {
  private(set) var wantsClose = false
  private(set) var wantsKeepAlive = false
  private(set) var expectsContinue = false
  private var hosts = 0
  private var contentLength: Int?
  private var hasTransferEncoding = false
  private var codings = 0
  private var chunkedCodings = 0
  private var endsInChunked = false
  private var hasAuthorization = false
  private var hasIdempotencyKey = false

  /// Takes note of a field. Names are told apart by their length first, so most fields cost one comparison.
  mutating func note(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) throws(Problem) {
    switch name.count {
    case 4 where FieldName.host.matches(name): try noteHost(value)
    case 6 where FieldName.expect.matches(name): try noteExpect(value)
    case 10 where FieldName.connection.matches(name): noteConnection(value)
    case 13 where FieldName.authorization.matches(name): try Self.noteOnce(&hasAuthorization, .authorization)
    case 14 where FieldName.contentLength.matches(name): try noteContentLength(value)
    case 15 where FieldName.idempotencyKey.matches(name): try Self.noteOnce(&hasIdempotencyKey, .idempotencyKey)
    case 17 where FieldName.transferEncoding.matches(name): noteTransferEncoding(value)
    default: break
    }
  }

  /// How the body's end is found (RFC 9112, 6.3).
  func body(isVersion11: Bool) throws(Problem) -> RequestHead.Body {
    guard hasTransferEncoding else {
      guard let contentLength, contentLength > 0 else { return .none }
      return .length(contentLength)
    }
    guard contentLength == nil else {
      throw .malformed("Transfer-Encoding and Content-Length are both there; they could disagree.")
    }
    guard isVersion11 else {
      throw .malformed("Transfer-Encoding came with HTTP/1.0, which doesn't know it.")
    }
    guard endsInChunked else {
      throw .malformed("The last transfer coding isn't chunked, so the body's end can't be found.")
    }
    guard chunkedCodings == 1 else { throw .malformed("The chunked coding is applied twice.") }
    guard codings == 1 else {
      throw Problem(.notImplemented, detail: "The only transfer coding that this server knows is chunked.")
    }
    return .chunked
  }

  func checkHost(isVersion11: Bool) throws(Problem) {
    guard hosts <= 1 else { throw .malformed("There is more than one Host field.") }
    guard hosts == 1 || !isVersion11 else { throw .malformed("There is no Host field, which HTTP/1.1 requires.") }
  }

  /// Who asks, and which request it is, can be said once: a proxy may have read the other one.
  private static func noteOnce(_ isNoted: inout Bool, _ name: FieldName) throws(Problem) {
    guard !isNoted else { throw .malformed("There is more than one \(name.text).") }
    isNoted = true
  }

  private mutating func noteHost(_ value: UnsafeRawBufferPointer) throws(Problem) {
    hosts += 1
    guard Authority.hostLength(in: value) != nil else {
      throw .malformed("The Host field isn't a host and a port.")
    }
  }

  private mutating func noteExpect(_ value: UnsafeRawBufferPointer) throws(Problem) {
    guard value.equalsIgnoringCase("100-continue") else { throw Problem(.expectationFailed) }
    expectsContinue = true
  }

  private mutating func noteConnection(_ value: UnsafeRawBufferPointer) {
    value.forEachListElement { element in
      if element.equalsIgnoringCase("close") { wantsClose = true }
      if element.equalsIgnoringCase("keep-alive") { wantsKeepAlive = true }
    }
  }

  private mutating func noteTransferEncoding(_ value: UnsafeRawBufferPointer) {
    hasTransferEncoding = true
    value.forEachListElement { coding in
      // Byte by byte, never as text: to a String the Kelvin sign is a K, and only to it.
      endsInChunked = coding.equalsIgnoringCase("chunked")
      codings += 1
      if endsInChunked { chunkedCodings += 1 }
    }
  }

  private mutating func noteContentLength(_ value: UnsafeRawBufferPointer) throws(Problem) {
    guard contentLength == nil else { throw .malformed("There is more than one Content-Length.") }
    guard !value.isEmpty, value.allSatisfy(\.isDigit) else {
      throw .malformed("Content-Length isn't a decimal number.")
    }
    var length = 0
    for digit in value {
      let (tenfold, overflows) = length.multipliedReportingOverflow(by: 10)
      let (sum, overflowsToo) = tenfold.addingReportingOverflow(Int(digit - UInt8(ascii: "0")))
      guard !overflows, !overflowsToo else { throw Problem(.payloadTooLarge) }
      length = sum
    }
    contentLength = length
  }
}
