/// A request's head, checked: its line, its fields, and what they say about the body and the connection.
///
/// Only `RequestParser` makes one, so whoever holds a head knows that every rule of RFC 9112 on it held.
/// It's the bytes as they came, in one array, and the places of the parts in it. It never changes, so everyone who has
/// to do with a request shares one.
public final class RequestHead: Sendable {
  /// How the body's end is found.
  public enum Body: Sendable, Equatable {
    /// There is no body.
    case none
    /// A body of exactly so many bytes, at least one.
    case length(Int)
    /// A body in the chunked coding.
    case chunked
  }

  /// What a target is (RFC 9112, 3.2). The absolute form is told as its path.
  public enum TargetForm: Sendable, Equatable {
    /// A path, and maybe a query.
    case path
    /// `*`: the server as a whole, with `OPTIONS` only.
    case server
    /// `host:port`: what a proxy would connect to.
    case authority
  }

  /// Where a field's name and value stand in the head.
  struct FieldPlace: Sendable {
    // Half the size of two ranges of `Int`: every request has an array of these. A head is bounded far below 4 GiB.
    private let nameStart, nameEnd, valueStart, valueEnd: UInt32

    init(name: Range<Int>, value: Range<Int>) {
      nameStart = UInt32(truncatingIfNeeded: name.lowerBound)
      nameEnd = UInt32(truncatingIfNeeded: name.upperBound)
      valueStart = UInt32(truncatingIfNeeded: value.lowerBound)
      valueEnd = UInt32(truncatingIfNeeded: value.upperBound)
    }

    var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
    var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
  }

  /// The request's method.
  public let method: Method
  /// Whether the client speaks HTTP/1.1 or a later 1.x; otherwise it's 1.0.
  public let isVersion11: Bool
  /// What the target is.
  public let targetForm: TargetForm
  /// How the body's end is found.
  public let body: Body
  /// Whether the client is ready for another request after this one.
  public let keepsAlive: Bool
  /// Whether the client waits for `100 Continue` before it sends the body.
  public let expectsContinue: Bool

  let bytes: [UInt8]
  let pathPlace: Range<Int>
  let queryPlace: Range<Int>
  let fieldPlaces: [FieldPlace]

  init(
    line: RequestLine,
    body: Body,
    keepsAlive: Bool,
    expectsContinue: Bool,
    bytes: [UInt8],
    fieldPlaces: [FieldPlace]
  ) {
    method = line.method
    isVersion11 = line.isVersion11
    targetForm = line.form
    pathPlace = line.path
    queryPlace = line.query
    self.body = body
    self.keepsAlive = keepsAlive
    self.expectsContinue = expectsContinue
    self.bytes = bytes
    self.fieldPlaces = fieldPlaces
  }

  /// The path as it came: not yet decoded. It begins with `/`, or is empty where the target isn't a path.
  public var path: String { String(decoding: bytes[pathPlace], as: UTF8.self) }

  /// What follows the path's `?`, as it came; empty when there is none.
  public var query: String { String(decoding: bytes[queryPlace], as: UTF8.self) }

  /// The same as bytes.
  public var queryBytes: ArraySlice<UInt8> { bytes[queryPlace] }

  /// How many bytes the head had.
  public var size: Int { bytes.count }

  /// Whether `bytes` begin with this very head.
  public func isPrefix(of bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= size && bytes.slice(0..<size).equals(self.bytes)
  }

  /// The value of the first field of that name, or nil. A byte that isn't UTF-8 shows as U+FFFD.
  public subscript(_ name: FieldName) -> String? {
    firstPlace(of: name).map { String(decoding: bytes[$0.value], as: UTF8.self) }
  }

  /// Gives the bytes of the first field of that name to `body`, only for as long as that runs; nil where there is none.
  public func withBytes<Result>(of name: FieldName, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows
    -> Result?
  {
    guard let place = firstPlace(of: name) else { return nil }
    return try bytes.withUnsafeBytes { try body($0.slice(place.value)) }
  }

  /// Whether a field of that name is there, even an empty one.
  public func has(_ name: FieldName) -> Bool { firstPlace(of: name) != nil }

  /// The elements of all fields of that name, as one comma-separated list (RFC 9110, 5.3).
  public func list(_ name: FieldName) -> [String] {
    var elements: [String] = []
    bytes.withUnsafeBytes { all in
      for place in fieldPlaces where name.matches(all.slice(place.name)) {
        all.slice(place.value).forEachListElement { elements.append(String(decoding: $0, as: UTF8.self)) }
      }
    }
    return elements
  }

  /// The values of all fields of that name, in order, for lists whose elements may have commas inside.
  public func values(_ name: FieldName) -> [[UInt8]] {
    bytes.withUnsafeBytes { all in
      fieldPlaces.filter { name.matches(all.slice($0.name)) }.map { Array(all.slice($0.value)) }
    }
  }

  private func firstPlace(of name: FieldName) -> FieldPlace? {
    bytes.withUnsafeBytes { all in
      fieldPlaces.first { name.matches(all.slice($0.name)) }
    }
  }
}
