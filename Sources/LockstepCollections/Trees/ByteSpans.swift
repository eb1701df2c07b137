// `Array.span` and `String.utf8Span` need macOS 26 or iOS 26. Elsewhere, they are the fastest way.

extension [UInt8] {
  @inline(__always)
  func withSpan<Result>(_ body: (Span<UInt8>) -> Result) -> Result {
    #if canImport(Darwin)
      withUnsafeBufferPointer { body($0.span) }
    #else
      body(span)
    #endif
  }
}

extension String {
  /// Passes the text in UTF-8 and an array to `body`.
  @inline(__always)
  func withSpans<Result>(and bytes: [UInt8], _ body: (Span<UInt8>, Span<UInt8>) -> Result) -> Result {
    #if canImport(Darwin)
      // Copies the text only if it comes from Objective-C.
      var text = self
      return text.withUTF8 { text in bytes.withSpan { body(text.span, $0) } }
    #else
      return body(utf8Span.span, bytes.span)
    #endif
  }
}

extension Span<UInt8> {
  func hasSameBytes(as other: Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for index in indices where self[index] != other[index] { return false }
    return true
  }

  /// Negative if these bytes come before the others in the order of bytes; 0 if they are equal.
  func order(before other: Span<UInt8>) -> Int {
    for index in 0..<Swift.min(count, other.count) where self[index] != other[index] {
      return self[index] < other[index] ? -1 : 1
    }
    return (count - other.count).signum()
  }

  func contains(_ byte: UInt8) -> Bool {
    for index in indices where self[index] == byte { return true }
    return false
  }
}
