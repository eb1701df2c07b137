/// The name of a header field that this server reads or writes.
///
/// Made from literals only, so a name costs no allocation and can't carry what came from outside.
/// The letters' case is kept for writing and ignored for comparing.
public struct FieldName: Sendable, ExpressibleByStringLiteral {
  let literal: StaticString

  /// A name as it is to be written, for example `"Retry-After"`.
  public init(stringLiteral literal: StaticString) {
    self.literal = literal
  }

  /// The name as it is written.
  public var text: String { literal.description }

  func matches(_ name: UnsafeRawBufferPointer) -> Bool {
    name.equalsIgnoringCase(literal)
  }
}

extension FieldName {
  public static let accept: FieldName = "Accept"
  public static let acceptEncoding: FieldName = "Accept-Encoding"
  public static let accessControlAllowHeaders: FieldName = "Access-Control-Allow-Headers"
  public static let accessControlAllowMethods: FieldName = "Access-Control-Allow-Methods"
  public static let accessControlAllowOrigin: FieldName = "Access-Control-Allow-Origin"
  public static let accessControlExposeHeaders: FieldName = "Access-Control-Expose-Headers"
  public static let accessControlMaxAge: FieldName = "Access-Control-Max-Age"
  public static let accessControlRequestHeaders: FieldName = "Access-Control-Request-Headers"
  public static let accessControlRequestMethod: FieldName = "Access-Control-Request-Method"
  public static let allow: FieldName = "Allow"
  public static let authorization: FieldName = "Authorization"
  public static let cacheControl: FieldName = "Cache-Control"
  public static let connection: FieldName = "Connection"
  public static let contentEncoding: FieldName = "Content-Encoding"
  public static let contentLength: FieldName = "Content-Length"
  public static let contentType: FieldName = "Content-Type"
  public static let date: FieldName = "Date"
  public static let expect: FieldName = "Expect"
  public static let host: FieldName = "Host"
  public static let location: FieldName = "Location"
  public static let origin: FieldName = "Origin"
  public static let retryAfter: FieldName = "Retry-After"
  public static let transferEncoding: FieldName = "Transfer-Encoding"
  public static let vary: FieldName = "Vary"
}
