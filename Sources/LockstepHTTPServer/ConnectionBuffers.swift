import LockstepHTTP

/// Bytes from the client that no parser has consumed yet. An empty buffer holds no memory.
struct InputBuffer {
  private var bytes: [UInt8] = []
  private var used = 0

  var isEmpty: Bool { used == bytes.count }
  var count: Int { bytes.count - used }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    // Usually only part of a request is left. Moving it to the front keeps the buffer small.
    bytes.removeFirst(used)
    used = 0
    bytes.append(contentsOf: more)
  }

  mutating func removeFirst(_ count: Int) {
    used += count
    if used == bytes.count { self = InputBuffer() }
  }

  /// Calls `body` with the unused bytes, which are valid only during the call.
  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { all throws(Failure) in
      try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: all[used...])))
    }
  }
}

/// Output that waits for the client: heads and short bodies gathered in one buffer, then at most
/// one long body. A body of one array is sent without a copy. A body in pieces is copied slice by
/// slice.
struct OutputBuffer {
  private var gathered: [UInt8] = []
  private var body: [UInt8] = []
  /// The pieces that follow `body`.
  private var rest: BodyPieces.Reader?
  private var sent = 0

  /// Copying a body below this size costs less than a second buffer.
  static let longBody = 16 * 1024
  /// How much of a body in pieces is copied at a time.
  static let slice = 64 * 1024

  var isEmpty: Bool { gathered.isEmpty && body.isEmpty }
  var count: Int { gathered.count + body.count - sent + (rest?.remaining ?? 0) }
  /// The size of the output, including sent bytes, because memory is freed only when all is sent.
  /// Pieces count in full: after a later write, only this output may use them.
  var memory: Int { gathered.count + body.count + (rest?.count ?? 0) }
  var hasBuffer: Bool { gathered.capacity > 0 }
  var hasLongBody: Bool { !body.isEmpty }

  /// Gets an empty buffer for `gather`. `takeBuffer` returns it later.
  mutating func borrow(_ buffer: consuming [UInt8]) { gathered = buffer }

  /// Not allowed while there is a long body, because the body is sent after all gathered output.
  mutating func gather(_ write: (inout [UInt8]) -> Void) { write(&gathered) }

  mutating func add(body bytes: [UInt8]) {
    if bytes.count < Self.longBody { gathered.append(contentsOf: bytes) } else { body = bytes }
  }

  mutating func add(pieces: BodyPieces) {
    rest = pieces.reader
    readSlice()
  }

  private mutating func readSlice() {
    guard let reader = rest, reader.remaining > 0 else {
      body = []
      rest = nil
      return
    }
    body.removeAll(keepingCapacity: true)
    reader.read(upTo: Self.slice, into: &body)
  }

  mutating func send(to socket: Socket) -> Socket.Outcome {
    var outcome = Socket.Outcome.bytes(0)
    while !isEmpty {
      outcome = sendOnce(to: socket)
      guard case .bytes(let count) = outcome else { return outcome }
      sent += count
      guard sent == gathered.count + body.count else { continue }
      gathered.removeAll(keepingCapacity: true)
      sent = 0
      readSlice()
    }
    return outcome
  }

  /// Returns the buffer for reuse and keeps none. Call this only when all output is sent.
  mutating func takeBuffer() -> [UInt8] {
    let buffer = gathered
    gathered = []
    return buffer
  }

  private func sendOnce(to socket: Socket) -> Socket.Outcome {
    gathered.withUnsafeBytes { gathered in
      let first = gathered.slice(min(sent, gathered.count)..<gathered.count)
      guard !body.isEmpty else { return socket.write(first) }
      return body.withUnsafeBytes { body in
        let second = body.slice(max(0, sent - gathered.count)..<body.count)
        return first.isEmpty ? socket.write(second) : socket.write(first, second)
      }
    }
  }
}
