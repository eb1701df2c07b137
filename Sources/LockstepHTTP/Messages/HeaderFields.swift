/// The header fields of a response, as the bytes that the server sends. A block of fields is
/// encoded once, and each response that uses it costs only a copy.
public struct HeaderFields: Sendable, Equatable {
  package private(set) var bytes: [UInt8] = []

  /// No fields.
  public init() {}

  /// Whether there are no fields.
  public var isEmpty: Bool { bytes.isEmpty }

  /// Adds a field. Control characters in the value, such as CR and LF, become spaces, so no value
  /// can add a field or end the head. A field that the server itself writes is ignored, because a
  /// second `Content-Length`, for example, would allow request smuggling.
  @inlinable
  public mutating func append(_ name: FieldName, _ value: some StringProtocol) {
    append(name, text: String(value))
  }

  @usableFromInline
  mutating func append(_ name: FieldName, text: String) {
    guard !name.isFraming else { return }
    // Room for the fields of a usual response.
    if bytes.isEmpty { bytes.reserveCapacity(256) }
    bytes.append(contentsOf: name.literal.bytes)
    bytes.append(UInt8(ascii: ":"))
    bytes.append(UInt8(ascii: " "))
    let start = bytes.count
    // Nearly every string is contiguous, and one copy is much faster than a loop over its bytes.
    let isCopied: Void? = text.utf8.withContiguousStorageIfAvailable { bytes.append(contentsOf: $0) }
    if isCopied == nil { bytes.append(contentsOf: text.utf8) }
    while let index = bytes.withUnsafeBytes({ $0.firstControl(in: start..<$0.count) }) {
      bytes[index] = UInt8(ascii: " ")
    }
    bytes.append(UInt8(ascii: "\r"))
    bytes.append(UInt8(ascii: "\n"))
  }

  /// Restores fields from the recorded `bytes` of earlier ones.
  public init(recorded bytes: [UInt8]) { self.bytes = bytes }

  /// Adds all fields of another block.
  public mutating func append(contentsOf other: HeaderFields) {
    bytes.append(contentsOf: other.bytes)
  }

  /// A copy in which `name` has only this value.
  public func replacing(_ name: FieldName, _ value: some StringProtocol) -> HeaderFields {
    var fields = HeaderFields()
    for line in bytes.split(separator: UInt8(ascii: "\n"))
    where !Self.isName(line.prefix { $0 != UInt8(ascii: ":") }, name) {
      fields.bytes += line + [UInt8(ascii: "\n")]
    }
    fields.append(name, value)
    return fields
  }

  /// The value of the first field with that name, or nil.
  public subscript(_ name: FieldName) -> String? {
    all.first { Self.isName($0.name.utf8, name) }?.value
  }

  private static func isName(_ text: some Sequence<UInt8>, _ name: FieldName) -> Bool {
    text.elementsEqual(name.text.utf8) { $0.lowercased == $1.lowercased }
  }

  /// Every field, in order.
  public var all: [(name: String, value: String)] {
    bytes.split(separator: UInt8(ascii: "\n")).map { line in
      let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
      return (
        String(decoding: line[..<colon], as: UTF8.self),
        String(decoding: line[colon...].dropFirst(2).dropLast(), as: UTF8.self)
      )
    }
  }

  /// Fields that limit what a browser does with a response. The browser guesses no other media
  /// type, so text from a client in a problem's `detail` never becomes a page or a script. The
  /// browser loads nothing for the response, shows the response in no frame, and sends no referrer
  /// from it.
  ///
  /// If a request needs no token, a response with a body has these fields. Every problem has them,
  /// because its `detail` may repeat what the client sent. Other responses require a token, which a
  /// browser never sends when it follows a link or loads a frame or an image.
  public static let forBrowsers: HeaderFields = {
    var fields = HeaderFields()
    fields.append(.xContentTypeOptions, "nosniff")
    fields.append(.contentSecurityPolicy, "default-src 'none'; frame-ancestors 'none'")
    fields.append(.referrerPolicy, "no-referrer")
    return fields
  }()
}
