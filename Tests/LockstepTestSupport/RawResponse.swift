/// A response as it came over the wire, in its parts.
public struct RawResponse: Equatable, Sendable {
  /// The status code.
  public let status: Int
  /// The field lines.
  public let fields: [String]
  /// The body, without the chunked coding.
  public let body: [UInt8]

  /// A response with these parts.
  public init(status: Int, fields: [String], body: [UInt8]) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// The body as text.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// The value of the first field with that name.
  public func field(_ name: String) -> String? { values(of: name).first }

  /// The values of all fields with that name, in order.
  public func values(of name: String) -> [String] {
    fields.filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }
      .map { String($0.drop { $0 != ":" }.dropFirst(2)) }
  }

  /// The first response in the bytes and its length, or nil if it is incomplete.
  static func parse(_ bytes: [UInt8], toHead: Bool) -> (RawResponse, used: Int)? {
    guard let end = headEnd(bytes) else { return nil }
    let lines = String(decoding: bytes[..<(end - 4)], as: UTF8.self).split(separator: "\r\n").map(String.init)
    let status = Int(lines[0].split(separator: " ")[1]) ?? 0
    let head = RawResponse(status: status, fields: Array(lines.dropFirst()), body: [])
    if toHead || status < 200 || status == 204 || status == 304 { return (head, end) }
    if head.field("Transfer-Encoding") == "chunked" { return chunked(head, Array(bytes[end...]), end) }
    let length = head.field("Content-Length").flatMap { Int($0) } ?? 0
    guard bytes.count >= end + length else { return nil }
    return (RawResponse(status: status, fields: head.fields, body: Array(bytes[end..<end + length])), end + length)
  }

  private static func chunked(_ head: RawResponse, _ bytes: [UInt8], _ end: Int) -> (RawResponse, used: Int)? {
    var body: [UInt8] = []
    var position = 0
    while let lineEnd = bytes[position...].firstIndex(of: 0x0A) {
      guard let size = Int(String(decoding: bytes[position..<lineEnd - 1], as: UTF8.self), radix: 16) else {
        return nil
      }
      let dataEnd = lineEnd + 1 + size
      guard bytes.count >= dataEnd + 2 else { return nil }
      body += bytes[(lineEnd + 1)..<dataEnd]
      position = dataEnd + 2
      if size == 0 { return (RawResponse(status: head.status, fields: head.fields, body: body), end + position) }
    }
    return nil
  }

  private static func headEnd(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    return (4...bytes.count).first { bytes[($0 - 4)..<$0].elementsEqual([13, 10, 13, 10]) }
  }
}
