extension JSON: CustomStringConvertible {
  /// The value as compact UTF-8. The result depends only on the value and the order of its members.
  /// Works for values of any depth.
  public func encoded() -> [UInt8] { withEncoding { Array($0) } }

  /// The value as compact JSON.
  public var description: String { withEncoding { String(decoding: $0, as: UTF8.self) } }

  fileprivate func withEncoding<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    var writer = JSONWriter()
    writer.write(self)
    return writer.output.withBytes(body)
  }
}

/// For fast code that writes brackets and commas itself.
extension [UInt8] {
  /// Appends a string in quotation marks, escaped.
  public mutating func append(json string: String) { append(string: string) }

  /// Appends an integer.
  public mutating func append(json integer: Int) { append(integer: Int64(integer)) }

  /// Appends a value.
  public mutating func append(json value: JSON) { value.withEncoding { append(contentsOf: $0) } }
}
