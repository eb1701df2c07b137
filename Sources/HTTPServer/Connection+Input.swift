import HTTP

extension Connection {
  /// What waiting for more input gave.
  enum Arrival {
    case bytes
    /// The client sends no more, or is gone.
    case end
    case timeout
    /// Nothing came, and the server stops.
    case stopped
  }

  /// Waits for more input, until the deadline. What is to be sent is sent before: the client may wait for it.
  func receive() async -> Arrival {
    flush()
    if !output.isEmpty {
      guard await flushed() else { return .end }
    }
    while true {
      if isBroken { return .end }
      if canRead {
        switch loop.read(socket, { input.append($0) }) {
        case .bytes(let count):
          // Less than there was room for means that nothing is left; an end behind it must still be read.
          if count < loop.scratchSize && !isFinished { canRead = false }
          return .bytes
        case .wouldBlock: canRead = false
        case .end: return .end
        case .broken: isBroken = true
        }
      } else if isTimedOut {
        return .timeout
      } else if isToStop {
        return .stopped
      } else {
        await wait(for: .input)
      }
    }
  }

  /// The next request's head; nil when the connection is over, which then was answered as it has to be.
  func nextHead() async -> RequestHead? {
    if input.isEmpty { setDeadline(loop.now + loop.timeouts.idle) } else { startHeadTime() }
    while true {
      switch parse() {
      case .head(let head): return head
      case .refused: return nil
      case .incomplete: break
      }
      let wasIdle = input.isEmpty
      switch await receive() {
      case .bytes: if wasIdle { startHeadTime() }
      case .end, .stopped: return nil
      case .timeout:
        noteTimeout()
        return nil
      }
    }
  }

  private enum Parsed {
    case head(RequestHead)
    case incomplete
    case refused
  }

  @inline(never)
  private func parse() -> Parsed {
    do throws(Problem) {
      let outcome = try input.withBytes { bytes throws(Problem) in try parser.parse(bytes) }
      guard case .head(let head, let consumed) = outcome else { return .incomplete }
      input.removeFirst(consumed)
      clearDeadline()
      return .head(head)
    } catch {
      refuse(error)
      return .refused
    }
  }

  private func noteTimeout() {
    loop.counters.timedOut.addAsOnlyWriter(1)
    if !input.isEmpty { refuse(Problem(.requestTimeout)) }
  }

  private func startHeadTime() {
    setDeadline(loop.now + loop.timeouts.head)
  }

  /// Takes the rest of the body through `sink`, at the pace the limits ask for.
  private func takeBody(upTo bound: Int, _ sink: (UnsafeRawBufferPointer) -> Void) async throws(Problem) {
    isBodyBroken = true
    defer { clearDeadline() }
    let start = loop.now
    while try !takeArrived(upTo: bound, since: start, sink) {
      switch await receive() {
      case .bytes: break
      case .end, .stopped: throw .incompleteBody
      case .timeout:
        loop.counters.timedOut.addAsOnlyWriter(1)
        throw Problem(.requestTimeout)
      }
    }
    isBodyBroken = false
  }

  /// Takes what has arrived of the body. Gives whether that was the rest; if not, sets the time for more.
  @inline(never)
  private func takeArrived(
    upTo bound: Int,
    since start: Int64,
    _ sink: (UnsafeRawBufferPointer) -> Void
  ) throws(Problem) -> Bool {
    guard var progress = body else { return true }
    defer { body = progress }
    try progress.take(from: &input, sink: sink)
    guard progress.received <= bound else { throw Problem(.payloadTooLarge) }
    guard !progress.isDone else { return true }
    setDeadline(start + loop.timeouts.bodyGrace + nanoseconds(for: progress.received))
    return false
  }

  /// How long so much of a body may take at the slowest pace allowed.
  private func nanoseconds(for bytes: Int) -> Int64 {
    Int64(bytes) * 1_000_000_000 / Int64(max(1, loop.limits.bodyRate))
  }

  /// Reads and forgets what a handler left of the body, if that is little. Gives whether the next request can follow.
  func discardBody() async -> Bool {
    guard let progress = body, !progress.isDone else { return true }
    do {
      try await takeBody(upTo: progress.received + loop.limits.discardedBody) { _ in }
      return true
    } catch {
      return false
    }
  }
}

/// A handler's door to the body of its request, from wherever the handler is.
final class ConnectionBody: BodySource {
  private let connection: Connection
  private let isolation: LoopIsolation
  private let expectsContinue: Bool

  init(of connection: Connection, expectsContinue: Bool) {
    self.connection = connection
    isolation = connection.loop.isolation
    self.expectsContinue = expectsContinue
  }

  func collect() async throws -> [UInt8] {
    try await collect(on: isolation)
  }

  private func collect(on isolation: isolated LoopIsolation) async throws -> [UInt8] {
    try await connection.collectBody(expectsContinue: expectsContinue)
  }
}

extension Connection {
  fileprivate func collectBody(expectsContinue: Bool) async throws(Problem) -> [UInt8] {
    guard let progress = body, !progress.isDone else { return [] }
    let limit = loop.limits.body
    guard progress.knownRemainder <= limit else { throw Problem(.payloadTooLarge) }
    if expectsContinue, input.isEmpty { sendContinue() }
    var bytes: [UInt8] = []
    // Not all that was announced: who announces a lot and sends nothing would get memory for words.
    bytes.reserveCapacity(min(progress.knownRemainder, 16 * 1024))
    try await takeBody(upTo: limit) { bytes.append(contentsOf: $0) }
    return bytes
  }
}

extension Problem {
  fileprivate static var incompleteBody: Problem {
    Problem(.malformedRequest, detail: "The connection ended before the body did.")
  }
}
