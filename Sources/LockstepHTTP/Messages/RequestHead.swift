/// The checked head of a request: the bytes as they arrived, with the positions of the head's
/// parts. Only `RequestParser` makes heads, so every head has passed its checks.
public final class RequestHead: Sendable {
  /// How the server finds the end of the body.
  public enum Body: Sendable, Equatable {
    case none
    /// A body of this many bytes, at least one.
    case length(Int)
    /// A body in the chunked coding.
    case chunked
  }

  struct FieldPlace: Sendable {
    // `UInt32` is enough, because no head is near 4 GiB. Each request has an array of these, and
    // with `Range<Int>` it would be twice as large.
    private let nameStart, nameEnd, valueStart, valueEnd: UInt32

    init(name: Range<Int>, value: Range<Int>) {
      nameStart = UInt32(truncatingIfNeeded: name.lowerBound)
      nameEnd = UInt32(truncatingIfNeeded: name.upperBound)
      valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
      valueEnd = UInt32(truncatingIfNeeded: value.upperBound)
    }

    var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
    var nameCount: Int { Int(nameEnd) - Int(nameStart) }
    var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
  }

  /// The method.
  public let method: Method
  /// Whether the client speaks HTTP/1.1 or a later 1.x. Otherwise it speaks HTTP/1.0.
  public let isVersion11: Bool
  /// How the server finds the end of the body.
  public let body: Body
  /// Whether the client wants to keep the connection for another request.
  public let keepsAlive: Bool
  /// Whether the client waits for `100 Continue` before it sends the body.
  public let expectsContinue: Bool

  let targetForm: RequestLine.Form
  package let bytes: [UInt8]
  let pathPlace: Range<Int>
  @usableFromInline let queryPlace: Range<Int>
  let fieldPlaces: [FieldPlace]

  init(line: RequestLine, framing: Framing, bytes: [UInt8], fieldPlaces: [FieldPlace]) throws(Problem) {
    method = line.method
    isVersion11 = line.isVersion11
    targetForm = line.form
    pathPlace = line.path
    queryPlace = line.query
    body = try framing.body(isVersion11: line.isVersion11)
    keepsAlive = !framing.wantsClose && (line.isVersion11 || framing.wantsKeepAlive)
    expectsContinue = framing.expectsContinue && line.isVersion11 && body != .none
    self.bytes = bytes
    self.fieldPlaces = fieldPlaces
    try framing.checkHost(isVersion11: line.isVersion11)
  }

  /// The path, not decoded. It begins with `/`, or is empty if the target is not a path.
  public var path: String { String(decoding: bytes[pathPlace], as: UTF8.self) }

  /// The query after the path's `?`, not decoded; empty if there is none.
  public var query: String { String(decoding: bytes[queryPlace], as: UTF8.self) }

  /// Whether there is a query that is not empty.
  @inlinable
  public var hasQuery: Bool { !queryPlace.isEmpty }

  /// The bytes of the query.
  public var queryBytes: ArraySlice<UInt8> { bytes[queryPlace] }

  /// The size of the head in bytes.
  public var size: Int { bytes.count }

  /// Whether the head has exactly these bytes.
  public func hasBytes(_ bytes: UnsafeRawBufferPointer) -> Bool { bytes.equals(self.bytes) }

  /// The value of the first field with this name, or nil. Bytes that are not UTF-8 become U+FFFD.
  public subscript(_ name: FieldName) -> String? {
    firstPlace(of: name).map { String(decoding: bytes[$0.value], as: UTF8.self) }
  }

  /// Calls `body` with the value of the first field with this name, if there is one. The value is
  /// valid only during the call.
  public func withBytes<Result>(of name: FieldName, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
    -> Result?
  {
    guard let place = firstPlace(of: name) else { return nil }
    return try bytes.withUnsafeBytes { try body($0.slice(place.value)) }
  }

  /// Whether there is a field with this name, even an empty one.
  public func has(_ name: FieldName) -> Bool { firstPlace(of: name) != nil }

  /// The elements of the comma-separated lists in all fields with this name (RFC 9110, 5.3).
  public func list(_ name: FieldName) -> [String] {
    var elements: [String] = []
    bytes.withUnsafeBytes { all in
      for place in fieldPlaces where name.matches(all.slice(place.name)) {
        all.slice(place.value).forEachListElement { elements.append(String(decoding: $0, as: UTF8.self)) }
      }
    }
    return elements
  }

  /// The values of all fields with this name. Use this, not `list`, if elements may have commas.
  public func values(_ name: FieldName) -> [[UInt8]] {
    bytes.withUnsafeBytes { all in
      fieldPlaces.filter { name.matches(all.slice($0.name)) }.map { Array(all.slice($0.value)) }
    }
  }

  private func firstPlace(of name: FieldName) -> FieldPlace? {
    // Most names differ in their length.
    fieldPlaces.first { place in
      place.nameCount == name.count && bytes.withUnsafeBytes { name.matches($0.slice(place.name)) }
    }
  }
}
