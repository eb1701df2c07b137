/// What a client is still to be sent: short pieces gathered in one buffer, and behind them at most one long body that
/// is sent from where it is.
struct OutputBuffer {
  private var gathered: [UInt8] = []
  private var body: [UInt8] = []
  private var sent = 0

  /// From this size on a body is sent from where it is; copying a shorter one costs less than a second buffer.
  static let longBody = 16 * 1024

  var isEmpty: Bool { gathered.isEmpty && body.isEmpty }
  var count: Int { gathered.count + body.count - sent }
  /// How much memory is held until the client has taken the last byte: a body goes as a whole.
  var memory: Int { gathered.count + body.count }
  var hasBuffer: Bool { gathered.capacity > 0 }
  var hasLongBody: Bool { !body.isEmpty }

  /// Lends a buffer to gather in.
  mutating func borrow(_ buffer: consuming [UInt8]) {
    gathered = buffer
  }

  /// Gathers what `write` appends. Only while there is no long body: nothing may come before it's sent.
  mutating func gather(_ write: (inout [UInt8]) -> Void) {
    write(&gathered)
  }

  /// Adds a body behind what is gathered.
  mutating func add(body bytes: [UInt8]) {
    if bytes.count < Self.longBody { gathered.append(contentsOf: bytes) } else { body = bytes }
  }

  /// Sends as much as goes.
  mutating func send(to socket: Socket) -> Socket.Outcome {
    var outcome = Socket.Outcome.bytes(0)
    while !isEmpty {
      outcome = sendOnce(to: socket)
      guard case .bytes(let count) = outcome else { return outcome }
      sent += count
      guard sent == gathered.count + body.count else { continue }
      gathered.removeAll(keepingCapacity: true)
      body = []
      sent = 0
    }
    return outcome
  }

  /// Takes the buffer out, to be lent to others, leaving nothing behind. Only when empty.
  mutating func takeBuffer() -> [UInt8] {
    let buffer = gathered
    gathered = []
    return buffer
  }

  /// Forgets everything: there is nobody to send it to.
  mutating func discard() {
    self = OutputBuffer()
  }

  private func sendOnce(to socket: Socket) -> Socket.Outcome {
    gathered.withUnsafeBytes { gathered in
      let first = UnsafeRawBufferPointer(rebasing: gathered[min(sent, gathered.count)...])
      guard !body.isEmpty else { return socket.write(first) }
      return body.withUnsafeBytes { body in
        let second = UnsafeRawBufferPointer(rebasing: body[max(0, sent - gathered.count)...])
        return first.isEmpty ? socket.write(second) : socket.write(first, second)
      }
    }
  }
}
