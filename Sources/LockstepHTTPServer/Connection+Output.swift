import LockstepHTTP

extension Connection {
  /// Adds to what is to be sent. It goes out when the task waits for input, or when there is much of it.
  func gather(_ write: (inout [UInt8]) -> Void) {
    if !output.hasBuffer { output.borrow(loop.takeBuffer()) }
    output.gather(write)
  }

  /// Sends as much as the client takes now.
  func flush() {
    guard !output.isEmpty else { return }
    guard !isBroken else { return output.discard() }
    let before = output.count
    switch output.send(to: socket) {
    case .bytes: loop.recycle(output.takeBuffer())
    case .wouldBlock, .end: canWrite = false
    case .broken:
      isBroken = true
      output.discard()
    }
    loop.counters.sent.addAsOnlyWriter(before - output.count)
  }

  /// Sends what is left of an answer. Gives whether there is something to go on with.
  func sendRest(then next: Continuation) -> Bool {
    flush()
    if !output.isEmpty {
      guard isTimedOut else { return false }
      guard !hasClientTakenSome() else {
        timeOutput()
        return false
      }
      giveUpSending()
    }
    clearDeadline()
    proceed(next)
    return true
  }

  /// Sends all there is for a handler's task, however long the client takes, as long as it takes something. Gives
  /// whether it worked.
  func flushed() async -> Bool {
    flush()
    guard !output.isEmpty else { return !isBroken }
    let previousDeadline = deadline
    timeOutput()
    while !output.isEmpty, !isBroken {
      await wait(for: .output)
      guard isTimedOut, !output.isEmpty else { continue }
      if hasClientTakenSome() { timeOutput() } else { giveUpSending() }
    }
    clearDeadline()
    setDeadline(previousDeadline)
    return !isBroken
  }

  /// Gives the client time to take something.
  func timeOutput() {
    isTimedOut = false
    untaken = output.count + socket.unacknowledged
    setDeadline(loop.now + loop.timeouts.outputStall)
  }

  /// Whether the client took anything since its time was set. Asked of the kernel, which has most of what is to be sent
  /// and tells of room for more only when there is a lot: a client that takes a little all the time is slow, not gone.
  func hasClientTakenSome() -> Bool {
    output.count + socket.unacknowledged < untaken
  }

  func giveUpSending() {
    loop.counters.timedOut.addAsOnlyWriter(1)
    isBroken = true
    output.discard()
  }

  /// Adds a whole answer, or its head where the body is streamed.
  func add(_ response: Response, for exchange: ResponseSerializer.Exchange) {
    gather {
      ResponseSerializer.appendHead(of: response, for: exchange, dateField: loop.dateField, to: &$0)
    }
    guard case .bytes(let bytes) = response.body, !exchange.isHead, !response.status.forbidsBody else { return }
    output.add(body: bytes)
  }

  func sendContinue() {
    hasSentContinue = true
    gather { $0.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8) }
    flush()
  }
}

/// A handler's door to a streamed answer, from wherever the handler is.
final class ConnectionWriter: BodyWriter {
  private let connection: Connection
  private let isolation: LoopIsolation
  private let isChunked: Bool

  init(to connection: Connection, isChunked: Bool) {
    self.connection = connection
    isolation = connection.loop.isolation
    self.isChunked = isChunked
  }

  func write(_ bytes: [UInt8]) async throws {
    try await write(bytes, on: isolation)
  }

  private func write(_ bytes: [UInt8], on isolation: isolated LoopIsolation) async throws {
    try await connection.send(piece: bytes, isChunked: isChunked)
  }
}

extension Connection {
  fileprivate func send(piece: [UInt8], isChunked: Bool) async throws {
    guard !piece.isEmpty else { return }
    gather { if isChunked { $0.append(chunk: piece) } else { $0.append(contentsOf: piece) } }
    guard await flushed() else { throw CancellationError() }
  }
}
