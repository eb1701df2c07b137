/// The layout of JSON text.
public enum JSONStyle: Sendable, Hashable {
  /// Without any white space.
  case compact
  /// One element or member per line, indented by two spaces, without a final line feed.
  case pretty
}

extension JSON: CustomStringConvertible {
  /// The value as UTF-8. The result depends only on the value and the order of its members. Works
  /// for values of any depth.
  public func encoded(_ style: JSONStyle = .compact) -> [UInt8] {
    withEncoding(style) { Array($0) }
  }

  /// Appends the value as UTF-8.
  public func encode(into bytes: inout [UInt8], _ style: JSONStyle = .compact) {
    withEncoding(style) { bytes.append(contentsOf: $0) }
  }

  /// The value as compact JSON.
  public var description: String { withEncoding(.compact) { String(decoding: $0, as: UTF8.self) } }

  private func withEncoding<Result>(
    _ style: JSONStyle,
    _ body: (UnsafeBufferPointer<UInt8>) -> Result
  ) -> Result {
    var writer = JSONWriter(style: style, capacity: 512)
    writer.write(self)
    return writer.output.withBytes(body)
  }
}

/// For hot paths that write brackets and commas themselves.
extension [UInt8] {
  /// Appends a string in quotation marks, escaped.
  public mutating func append(json string: String) { append(string: string) }

  /// Appends an integer.
  public mutating func append(json integer: Int) { append(integer: Int64(integer)) }

  /// Appends an integer.
  public mutating func append(json integer: Int64) { append(integer: integer) }

  /// Appends an integer.
  public mutating func append(json integer: UInt64) { append(unsigned: integer) }

  /// Appends the shortest text that parses as the same double, or `null` if it is not finite.
  public mutating func append(json double: Double) { append(double: double) }

  /// Appends `true` or `false`.
  public mutating func append(json bool: Bool) { append(word: bool ? "true" : "false") }

  /// Appends a value.
  public mutating func append(json value: JSON) { value.encode(into: &self) }
}
