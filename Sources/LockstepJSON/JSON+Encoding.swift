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

  /// Appends bytes as they are.
  package mutating func append(copying bytes: Span<UInt8>) {
    bytes.withUnsafeBufferPointer { append(contentsOf: $0) }
  }

  /// Appends UTF-8 bytes as a string in quotation marks, escaped.
  package mutating func append(json text: Span<UInt8>) { text.withUnsafeBufferPointer { append(string: $0) } }

  /// Appends a member of an object: its name in UTF-8, a colon, and the JSON of its value. Returns
  /// whether the name needed no escapes.
  package mutating func append(member name: Span<UInt8>, json value: Span<UInt8>) -> Bool {
    name.withUnsafeBufferPointer { name in
      value.withUnsafeBufferPointer { value in
        let isPlain = firstSpecialByte(in: name, from: 0) == name.count
        if isPlain {
          // One change of the array is much faster than five.
          append(addingCapacity: name.count + value.count + 3) { (output: inout OutputSpan<UInt8>) in
            output.append(Ascii.quote)
            output.append(name)
            output.append(Ascii.quote)
            output.append(Ascii.colon)
            output.append(value)
          }
        } else {
          append(string: name)
          append(Ascii.colon)
          append(contentsOf: value)
        }
        return isPlain
      }
    }
  }

  /// Appends an integer.
  public mutating func append(json integer: Int) { append(integer: Int64(integer)) }

  /// Appends a value.
  public mutating func append(json value: JSON) { value.withEncoding { append(contentsOf: $0) } }
}

extension OutputSpan<UInt8> {
  /// - Precondition: There is room for the bytes.
  @inline(__always)
  fileprivate mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
    withUnsafeMutableBufferPointer { memory, count in
      let room = UnsafeMutableBufferPointer(rebasing: memory[count..<count + bytes.count])
      count += room.update(fromContentsOf: bytes)
    }
  }
}
