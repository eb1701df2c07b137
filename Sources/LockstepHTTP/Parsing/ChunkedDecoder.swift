/// Takes the chunked coding off a body, in whatever pieces it comes (RFC 9112, 7.1).
///
/// Extensions and trailer fields are checked and thrown away; nothing here has a use for them.
public struct ChunkedDecoder: Sendable {
  private enum State {
    case size
    case data(remaining: Int)
    case dataEnd
    case trailer
    case done
  }

  private let bounds: ParserLimits
  private var state = State.size
  private var padding = 0
  private var trailerSize = 0
  private var trailerFields = 0

  /// How many bytes of data came so far.
  public private(set) var decoded = 0

  /// How many bytes of data came so far, with those that the present chunk says are still to come.
  public var announced: Int {
    guard case .data(let remaining) = state else { return decoded }
    let (sum, overflows) = decoded.addingReportingOverflow(remaining)
    return overflows ? .max : sum
  }

  /// Whether the last chunk and the trailer section are over.
  public var isDone: Bool {
    if case .done = state { true } else { false }
  }

  /// A decoder that refuses what is past `limits`; the limit on the body is the caller's to watch, by `announced`.
  public init(limits: Limits) {
    bounds = ParserLimits(limits)
  }

  /// Hands the data in `bytes` to `sink` and gives how many bytes it's done with.
  ///
  /// What is left is the beginning of a line that isn't complete: it must be there again, with more behind it, at the
  /// next call. Throws where the coding isn't kept to or a limit is passed; the connection can't go on then.
  public mutating func decode(
    _ bytes: UnsafeRawBufferPointer,
    sink: (UnsafeRawBufferPointer) -> Void
  ) throws(Problem) -> Int {
    var position = 0
    while true {
      switch state {
      case .done:
        return position
      case .data(let remaining):
        let count = min(remaining, bytes.count - position)
        sink(bytes.slice(position..<position + count))
        position += count
        decoded += count
        guard count == remaining else {
          state = .data(remaining: remaining - count)
          return position
        }
        state = .dataEnd
      case .size, .dataEnd, .trailer:
        guard let end = try lineEnd(in: bytes, from: position) else { return position }
        try take(line: bytes.slice(position..<end))
        position = end + 2
      }
    }
  }

  private mutating func take(line: UnsafeRawBufferPointer) throws(Problem) {
    switch state {
    case .size:
      let size = try Self.size(line)
      try countPadding(line)
      state = size == 0 ? .trailer : .data(remaining: size)
    case .dataEnd:
      guard line.isEmpty else { throw .malformed("A chunk is longer than its size says.") }
      state = .size
    case .trailer where line.isEmpty:
      state = .done
    case .trailer:
      try countTrailer(line)
    case .data, .done:
      break
    }
  }

  /// Where the line that begins at `start` ends, or nil while its end isn't there.
  private func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) throws(Problem) -> Int? {
    // Right behind a chunk's data nothing but CR LF can stand, and the first byte that differs says so.
    if case .dataEnd = state, start < bytes.count, bytes[start] != UInt8(ascii: "\r") {
      throw .malformed("A chunk is longer than its size says.")
    }
    let bound = min(bytes.count, start + bounds.chunkLine + 2)
    for index in start..<bound where bytes[index] == UInt8(ascii: "\n") {
      guard index > start, bytes[index - 1] == UInt8(ascii: "\r") else {
        throw .malformed("A line of the chunked coding ends in a bare line feed.")
      }
      return index - 1
    }
    guard bytes.count < start + bounds.chunkLine + 2 else {
      throw .malformed("A line of the chunked coding is longer than \(bounds.chunkLine) bytes.")
    }
    return nil
  }

  /// What a line has beyond the digits of the largest size is extensions or zeros. Without a bound on all of it, a body
  /// within its limit could hide in a thousand times as much that's thrown away (RFC 9112, 7.1.1).
  private mutating func countPadding(_ line: UnsafeRawBufferPointer) throws(Problem) {
    padding += max(0, line.count - Int.bitWidth / 4)
    guard padding <= bounds.headerSection else {
      throw .malformed(
        "The extensions and leading zeros of all chunks together are more than \(bounds.headerSection) bytes."
      )
    }
  }

  private mutating func countTrailer(_ line: UnsafeRawBufferPointer) throws(Problem) {
    _ = try HeadReader.fieldPlace(in: line, 0..<line.count)
    trailerSize += line.count + 2
    trailerFields += 1
    guard trailerSize <= bounds.headerSection, trailerFields <= bounds.headerFields else {
      throw .headersTooLarge(bounds)
    }
  }

  private static func size(_ line: UnsafeRawBufferPointer) throws(Problem) -> Int {
    var size = 0
    var index = 0
    while index < line.count, let digit = line[index].hexValue {
      guard size <= Int.max >> 4 else { throw Problem(.payloadTooLarge) }
      size = size << 4 | Int(digit)
      index += 1
    }
    guard index > 0 else { throw .malformed("A chunk's size isn't a hexadecimal number.") }
    guard isExtension(line.slice(index..<line.count)) else {
      throw .malformed("What follows a chunk's size isn't an extension.")
    }
    return size
  }

  private static func isExtension(_ rest: UnsafeRawBufferPointer) -> Bool {
    guard !rest.isEmpty else { return true }
    return rest.trimmed().first == UInt8(ascii: ";") && rest.allSatisfy(\.isFieldValueByte)
  }
}
