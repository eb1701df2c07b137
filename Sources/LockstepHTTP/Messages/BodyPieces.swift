/// A long body as arrays, which are sent one after the other. The arrays may be those of the state
/// in memory, so the body needs no copy of them. The server copies one slice at a time.
public struct BodyPieces: Sendable {
  package let arrays: [[UInt8]]
  /// The length of the body in bytes.
  public let count: Int

  /// A body of these arrays.
  public init(_ arrays: [[UInt8]]) {
    self.arrays = arrays
    count = arrays.reduce(0) { $0 + $1.count }
  }

  /// The body as one array.
  package var joined: [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    for array in arrays { bytes.append(contentsOf: array) }
    return bytes
  }

  package var reader: Reader { Reader(pieces: self) }

  /// Reads a body from its beginning to its end.
  // A class, because a connection has a reader only for few bodies, and copying an optional struct
  // takes longer.
  package final class Reader {
    private let pieces: BodyPieces
    /// How many bytes are not read yet.
    package private(set) var remaining: Int
    private var index = 0
    private var offset = 0

    fileprivate init(pieces: BodyPieces) {
      self.pieces = pieces
      remaining = pieces.count
    }

    /// The length of the whole body.
    package var count: Int { pieces.count }

    /// Appends the next bytes, at most `limit`. Appends none at the end.
    package func read(upTo limit: Int, into bytes: inout [UInt8]) {
      var room = min(limit, remaining)
      remaining -= room
      bytes.reserveCapacity(bytes.count + room)
      while room > 0 {
        let array = pieces.arrays[index]
        let end = min(array.count, offset + room)
        bytes.append(contentsOf: array[offset..<end])
        room -= end - offset
        offset = end
        if end == array.count { (index, offset) = (index + 1, 0) }
      }
    }
  }
}
