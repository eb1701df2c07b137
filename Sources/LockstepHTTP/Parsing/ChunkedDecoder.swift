/// Decodes the chunked coding of a body, which may arrive in pieces of any size (RFC 9112, 7.1).
/// Checks and discards extensions and trailer fields.
public struct ChunkedDecoder: Sendable {
  private enum State: Equatable {
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

  /// How many bytes of data have been decoded.
  public private(set) var decoded = 0

  /// `decoded` plus the bytes of the current chunk that have not arrived.
  public var announced: Int {
    guard case .data(let remaining) = state else { return decoded }
    let (sum, overflows) = decoded.addingReportingOverflow(remaining)
    return overflows ? .max : sum
  }

  /// Whether the last chunk and the trailer section are complete.
  public var isDone: Bool { state == .done }

  /// A decoder with these limits. The caller compares `announced` with the limit of the body.
  public init(limits: Limits) {
    bounds = ParserLimits(limits)
  }

  /// Passes the data in `bytes` to `sink` and returns how many bytes were used. Until `isDone`, the
  /// other bytes begin an incomplete line: pass them again, followed by more bytes.
  ///
  /// Throws if the coding is broken or exceeds a limit. Then the connection must close.
  public mutating func decode(
    _ bytes: UnsafeRawBufferPointer,
    sink: (UnsafeRawBufferPointer) -> Void
  ) throws(Problem) -> Int {
    var position = 0
    while state != .done {
      if case .data(let remaining) = state {
        let count = min(remaining, bytes.count - position)
        sink(bytes.slice(position..<position + count))
        position += count
        decoded += count
        state = count == remaining ? .dataEnd : .data(remaining: remaining - count)
        guard count == remaining else { break }
      } else {
        guard let end = try lineEnd(in: bytes, from: position) else { break }
        try take(line: bytes.slice(position..<end))
        position = end + 2
      }
    }
    return position
  }

  private mutating func take(line: UnsafeRawBufferPointer) throws(Problem) {
    switch state {
    case .size:
      let size = try Self.size(line)
      try countPadding(line)
      state = size == 0 ? .trailer : .data(remaining: size)
    case .dataEnd: state = .size
    case .trailer where line.isEmpty: state = .done
    case .trailer: try countTrailer(line)
    case .data, .done: break
    }
  }

  /// The end of the line that begins at `start`, or nil if it is incomplete.
  private func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) throws(Problem) -> Int? {
    // After the data of a chunk, only CR LF is valid. Any other byte is refused at once.
    if state == .dataEnd {
      for (byte, expected) in zip(bytes.slice(start..<bytes.count), "\r\n".utf8) where byte != expected {
        throw .malformed("A chunk is longer than its size says.")
      }
    }
    let bound = start + bounds.chunkLine + 2
    if let lineFeed = bytes.slice(0..<min(bytes.count, bound)).firstLineFeed(from: start) {
      guard lineFeed > start, bytes[lineFeed - 1] == UInt8(ascii: "\r") else {
        throw .malformed("A line of the chunked coding ends in a bare line feed.")
      }
      return lineFeed - 1
    }
    guard bytes.count < bound else {
      throw .malformed("A line of the chunked coding is longer than \(bounds.chunkLine) bytes.")
    }
    return nil
  }

  /// Counts the bytes of a size line beyond 16, the most digits that a size can have. They are
  /// extensions and leading zeros. Without a limit on their sum, a client could send far more of
  /// them than data (RFC 9112, 7.1.1).
  private mutating func countPadding(_ line: UnsafeRawBufferPointer) throws(Problem) {
    padding += max(0, line.count - Int.bitWidth / 4)
    guard padding <= bounds.headerSection else {
      throw .malformed(
        "The extensions and leading zeros of all chunks together are longer than \(bounds.headerSection) bytes."
      )
    }
  }

  private mutating func countTrailer(_ line: UnsafeRawBufferPointer) throws(Problem) {
    _ = try RequestHead.FieldPlace(in: line, 0..<line.count)
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
    guard index > 0 else { throw .malformed("The size of a chunk is not a hexadecimal number.") }
    let rest = line.slice(line.trimmed(index..<line.count))
    guard index == line.count || (rest.first == UInt8(ascii: ";") && rest.allSatisfy(\.isFieldValueByte)) else {
      throw .malformed("The text after the size of a chunk is not an extension.")
    }
    return size
  }
}
