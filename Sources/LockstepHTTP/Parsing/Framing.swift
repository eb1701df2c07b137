/// The fields of a head that decide where the body ends and whether the connection stays open. A
/// request is refused if this server and a proxy could read its fields differently, because such a
/// difference allows request smuggling (RFC 9112, 11.2).
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

  /// Adds a field. Names are compared by their length first, so most fields cost one comparison.
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

  /// How the server finds the end of the body (RFC 9112, 6.3).
  func body(isVersion11: Bool) throws(Problem) -> RequestHead.Body {
    guard hasTransferEncoding else {
      guard let contentLength, contentLength > 0 else { return .none }
      return .length(contentLength)
    }
    guard contentLength == nil else {
      throw .malformed("The request has both Transfer-Encoding and Content-Length, which could disagree.")
    }
    guard isVersion11 else { throw .malformed("HTTP/1.0 has no Transfer-Encoding.") }
    guard endsInChunked else {
      throw .malformed("The last transfer coding is not chunked, so the end of the body cannot be found.")
    }
    guard chunkedCodings == 1 else { throw .malformed("The chunked coding is applied twice.") }
    guard codings == 1 else {
      throw Problem(.notImplemented, detail: "The only transfer coding that this server supports is chunked.")
    }
    return .chunked
  }

  func checkHost(isVersion11: Bool) throws(Problem) {
    guard hosts <= 1 else { throw .malformed("The request has more than one Host field.") }
    guard hosts == 1 || !isVersion11 else {
      throw .malformed("The request has no Host field, which HTTP/1.1 requires.")
    }
  }

  /// Refuses a second field of this name, because a proxy may have read the other one.
  private static func noteOnce(_ isNoted: inout Bool, _ name: FieldName) throws(Problem) {
    guard !isNoted else { throw .malformed("The request has more than one \(name.text) field.") }
    isNoted = true
  }

  private mutating func noteHost(_ value: UnsafeRawBufferPointer) throws(Problem) {
    hosts += 1
    guard Authority.hostLength(in: value) != nil else {
      throw .malformed("The value of the Host field is not a host with an optional port.")
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
      // Compared as bytes, because a `String` lowercases the Kelvin sign to k.
      endsInChunked = coding.equalsIgnoringCase("chunked")
      codings += 1
      if endsInChunked { chunkedCodings += 1 }
    }
  }

  private mutating func noteContentLength(_ value: UnsafeRawBufferPointer) throws(Problem) {
    guard contentLength == nil else { throw .malformed("The request has more than one Content-Length field.") }
    guard !value.isEmpty, value.allSatisfy(\.isDigit) else {
      throw .malformed("The value of Content-Length is not a decimal number.")
    }
    // All bytes are digits, so only a number that is too large for an `Int` fails here.
    guard let length = Int(String(decoding: value, as: UTF8.self)) else { throw Problem(.payloadTooLarge) }
    contentLength = length
  }
}
