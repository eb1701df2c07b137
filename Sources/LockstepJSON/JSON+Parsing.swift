extension JSON {
  /// Reads one JSON value from UTF-8, strictly by RFC 8259: nothing but white space around it, no byte
  /// order mark, no lone surrogates, no invalid UTF-8, no nesting deeper than the limits. Of a repeated
  /// name the last value wins, in the place of the first. An integer literal that 64 bits cannot hold and
  /// a double that would be infinite, or zero though it's none, are `numberOutOfRange`.
  ///
  /// Takes time in proportion to the text, whatever it holds, and never recurses.
  ///
  /// - Throws: `JSONParseError` with the first thing that is wrong.
  public init(parsing text: UnsafeRawBufferPointer, limits: JSONLimits = .standard) throws(JSONParseError) {
    self = try text.withMemoryRebound(to: UInt8.self) { Self.parse($0, limits) }.get()
  }

  /// Reads one JSON value from the bytes of UTF-8.
  ///
  /// - Throws: `JSONParseError` with the first thing that is wrong.
  public init(parsing text: [UInt8], limits: JSONLimits = .standard) throws(JSONParseError) {
    self = try text.withUnsafeBufferPointer { Self.parse($0, limits) }.get()
  }

  /// Reads one JSON value from a part of some bytes; offsets in errors count from the start of the part.
  ///
  /// - Throws: `JSONParseError` with the first thing that is wrong.
  public init(parsing text: ArraySlice<UInt8>, limits: JSONLimits = .standard) throws(JSONParseError) {
    self = try text.withUnsafeBufferPointer { Self.parse($0, limits) }.get()
  }

  /// Reads one JSON value from a string.
  ///
  /// - Throws: `JSONParseError` with the first thing that is wrong.
  public init(parsing text: String, limits: JSONLimits = .standard) throws(JSONParseError) {
    self = try text.withBytes { Self.parse($0, limits) }.get()
  }

  private static func parse(
    _ text: UnsafeBufferPointer<UInt8>,
    _ limits: JSONLimits
  ) -> Result<JSON, JSONParseError> {
    guard let bytes = text.baseAddress else {
      return .failure(JSONParseError(ParseFault(problem: .emptyText, offset: 0), in: text))
    }
    do throws(ParseFault) {
      // The parser does not outlive this call, during which the caller vouches for the buffer.
      var parser = JSONParser(bytes, count: text.count, limits: limits)
      return .success(try parser.parseText())
    } catch {
      return .failure(JSONParseError(error, in: text))
    }
  }
}
