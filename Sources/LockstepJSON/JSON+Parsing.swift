extension JSON {
  /// Parses one JSON value in UTF-8, strictly by RFC 8259: only white space around it, no byte
  /// order mark, no lone surrogates, no invalid UTF-8, and no nesting deeper than the limits.
  ///
  /// The last value of a repeated name wins, at the position of the first. An integer that does not
  /// fit into 64 bits, and a double that would become infinite or wrongly zero, is
  /// `numberOutOfRange`.
  ///
  /// Takes time in proportion to the text, for any input, and never recurses.
  ///
  /// - Throws: `JSONParseError` for the first error.
  public init(parsing text: UnsafeRawBufferPointer, limits: JSONLimits = .standard) throws(JSONParseError) {
    self = try text.withMemoryRebound(to: UInt8.self) { Self.parse($0, limits) }.get()
  }

  /// Parses one JSON value in UTF-8.
  ///
  /// - Throws: `JSONParseError` for the first error.
  public init(parsing text: [UInt8], limits: JSONLimits = .standard) throws(JSONParseError) {
    self = try text.withUnsafeBufferPointer { Self.parse($0, limits) }.get()
  }

  /// Parses one JSON value.
  ///
  /// - Throws: `JSONParseError` for the first error.
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
      // The parser does not outlive this call, and the buffer is valid during it.
      var parser = JSONParser(bytes, count: text.count, limits: limits)
      return .success(try parser.parseText())
    } catch {
      return .failure(JSONParseError(error, in: text))
    }
  }
}
