extension JSON {
  /// The greatest possible depth of parsed values. Swift releases nested arrays recursively, which
  /// must not overflow a thread's stack.
  public static let highestDepth = 1024

  /// Parses one JSON value in UTF-8, strictly by RFC 8259: only white space around it, no byte
  /// order mark, no lone surrogates, and no invalid UTF-8. Text that is nested deeper than
  /// `maximumDepth` or `highestDepth` fails with `depthExceeded`.
  ///
  /// The last value of a repeated name wins, at the position of the first. An integer that does not
  /// fit into 64 bits fails with `numberOutOfRange`. So does a number that is too large for a
  /// double, and a number other than zero that a double would round to zero.
  ///
  /// Takes time in proportion to the text, for any input, and never recurses. The caller must limit
  /// the size of the text: the value takes at most about 40 times the memory of its text (for
  /// `[[0],[0],…]`), and usually 2 to 4 times.
  ///
  /// - Throws: `JSONParseError` for the first error.
  public init(parsing text: UnsafeRawBufferPointer, maximumDepth: Int = 128) throws(JSONParseError) {
    self = try text.withMemoryRebound(to: UInt8.self) { Self.parse($0, maximumDepth) }.get()
  }

  /// Parses one JSON value in UTF-8.
  public init(parsing text: [UInt8], maximumDepth: Int = 128) throws(JSONParseError) {
    self = try text.withUnsafeBufferPointer { Self.parse($0, maximumDepth) }.get()
  }

  /// Parses one JSON value.
  public init(parsing text: String, maximumDepth: Int = 128) throws(JSONParseError) {
    self = try text.withBytes { Self.parse($0, maximumDepth) }.get()
  }

  private static func parse(_ text: UnsafeBufferPointer<UInt8>, _ depth: Int) -> Result<JSON, JSONParseError> {
    guard let bytes = text.baseAddress else {
      return .failure(JSONParseError(ParseFault(problem: .emptyText, offset: 0), in: text))
    }
    do throws(ParseFault) {
      // The parser does not outlive this call, and the buffer is valid during it.
      var parser = JSONParser(bytes, count: text.count, maximumDepth: min(max(depth, 0), highestDepth))
      return .success(try parser.parseText())
    } catch {
      return .failure(JSONParseError(error, in: text))
    }
  }
}
