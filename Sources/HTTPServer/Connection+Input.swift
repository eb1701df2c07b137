import HTTP

extension Connection {
  /// What looking for more input gave.
  enum Arrival {
    case bytes
    /// There is nothing now: it must be waited for.
    case nothing
    /// The client sends no more, or is gone.
    case end
    case timeout
    /// Nothing came, and the server stops.
    case stopped
  }

  /// Hands on what has come, without waiting. It lies in the loop's own buffer: `body` must not keep it.
  func arrive(_ body: (UnsafeRawBufferPointer) -> Void) -> Arrival {
    if isBroken { return .end }
    if canRead {
      switch loop.read(socket, body) {
      case .bytes(let count):
        // Less than there was room for means that nothing is left; an end behind it must still be read.
        if count < loop.scratchSize && !isFinished { canRead = false }
        return .bytes
      case .wouldBlock: canRead = false
      case .end: return .end
      case .broken:
        isBroken = true
        return .end
      }
    }
    if isTimedOut { return .timeout }
    return isToStop ? .stopped : .nothing
  }

  // MARK: Heads

  enum Parsed {
    case head(RequestHead)
    case incomplete
    case refused(Problem)
  }

  /// Looks for a head in what is kept.
  func parse() -> Parsed {
    let outcome = input.withBytes { look(at: $0) }
    if case .head(_, let consumed) = outcome { input.removeFirst(consumed) }
    return outcome.parsed
  }

  /// Looks for a head in what has just come. Most often that is one whole request, which is never copied to the input.
  func parse(arrived bytes: UnsafeRawBufferPointer) -> Parsed {
    guard input.isEmpty else {
      input.append(bytes)
      return parse()
    }
    let outcome = look(at: bytes)
    switch outcome {
    case .head(_, let consumed):
      if consumed < bytes.count { input.append(UnsafeRawBufferPointer(rebasing: bytes[consumed...])) }
    case .incomplete, .refused: input.append(bytes)
    }
    return outcome.parsed
  }

  private enum Look {
    case head(RequestHead, consumed: Int)
    case incomplete
    case refused(Problem)

    var parsed: Parsed {
      switch self {
      case .head(let head, _): .head(head)
      case .incomplete: .incomplete
      case .refused(let problem): .refused(problem)
      }
    }
  }

  private func look(at bytes: UnsafeRawBufferPointer) -> Look {
    do throws(Problem) {
      switch try parser.parse(bytes) {
      case .head(let head, let consumed): return .head(head, consumed: consumed)
      case .incomplete: return .incomplete
      }
    } catch {
      return .refused(error)
    }
  }

  /// Sets the time for the next head: idle before its first byte, shorter from then on.
  func timeHead() {
    let timing = input.isEmpty ? HeadTiming.idle : .head
    guard headTiming != timing else { return }
    headTiming = timing
    setDeadline(loop.now + (timing == .idle ? loop.timeouts.idle : loop.timeouts.head))
  }

  // MARK: Bodies

  /// Takes what has come of the body out of the input. Gives whether that was the rest; if not, sets the time for more.
  private func takeArrivedBody(
    upTo bound: Int,
    since start: Int64,
    _ sink: (UnsafeRawBufferPointer) -> Void
  ) throws(Problem) -> Bool {
    guard var progress = body else { return true }
    defer { body = progress }
    do throws(Problem) {
      try progress.take(from: &input, sink: sink)
    } catch {
      loop.counters.malformed.addAsOnlyWriter(1)
      isBodyBroken = true
      throw error
    }
    guard progress.received <= bound else {
      isBodyBroken = true
      throw Problem(.payloadTooLarge)
    }
    guard !progress.isDone else { return true }
    setDeadline(start + loop.timeouts.bodyGrace + nanoseconds(for: progress.received))
    return false
  }

  /// How long so much of a body may take at the slowest pace allowed.
  private func nanoseconds(for bytes: Int) -> Int64 {
    Int64(bytes) * 1_000_000_000 / Int64(max(1, loop.limits.bodyRate))
  }

  /// Forgets what has already come of a body that no handler wanted: if its coding is broken, the answer can still say
  /// that the connection ends.
  func passOverArrivedBody() {
    guard let progress = body, !progress.isDone, !isBodyBroken, progress.knownRemainder <= loop.limits.discardedBody
    else { return }
    _ = try? takeArrivedBody(upTo: progress.received + loop.limits.discardedBody, since: loop.now) { _ in }
    clearDeadline()
  }

  /// Reads and forgets what a handler left of the body, if that is little. Gives whether there is something to go on
  /// with.
  func discardBody(since start: Int64, upTo bound: Int) -> Bool {
    do throws(Problem) {
      while try !takeArrivedBody(upTo: bound, since: start, { _ in }) {
        switch arrive({ input.append($0) }) {
        case .bytes: break
        case .nothing:
          // The client may wait for the answer before it sends the rest.
          flush()
          return false
        case .end, .stopped, .timeout:
          proceed(.end)
          return true
        }
      }
      clearDeadline()
      proceed(.nextRequest)
    } catch {
      proceed(.end)
    }
    return true
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

  /// Takes the rest of the body through `sink`, at the pace the limits ask for.
  private func takeBody(upTo bound: Int, _ sink: (UnsafeRawBufferPointer) -> Void) async throws(Problem) {
    isBodyBroken = true
    defer { clearDeadline() }
    let start = loop.now
    while try !takeArrivedBody(upTo: bound, since: start, sink) {
      switch await receive() {
      case .bytes, .nothing: break
      case .end, .stopped: throw .incompleteBody
      case .timeout:
        loop.counters.timedOut.addAsOnlyWriter(1)
        throw Problem(.requestTimeout)
      }
    }
    isBodyBroken = false
  }

  /// Waits for more input, until the deadline. What is to be sent is sent before: the client may wait for it.
  private func receive() async -> Arrival {
    flush()
    if !output.isEmpty {
      guard await flushed() else { return .end }
    }
    while true {
      let arrival = arrive { input.append($0) }
      guard case .nothing = arrival else { return arrival }
      await wait(for: .input)
    }
  }
}

extension Problem {
  fileprivate static var incompleteBody: Problem {
    Problem(.malformedRequest, detail: "The connection ended before the body did.")
  }
}
