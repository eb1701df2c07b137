import LockstepHTTP

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
    /// The last head came again, byte for byte.
    case again(RequestHead)
    case incomplete
    case refused(Problem)
  }

  /// Looks for a head in what is kept.
  func parse() -> Parsed {
    let outcome = input.withBytes { look(at: $0) }
    input.removeFirst(outcome.consumed)
    return outcome.parsed
  }

  /// Looks for a head in what has just come. Most often that is one whole request, which is never copied to the input.
  func parse(arrived bytes: UnsafeRawBufferPointer) -> Parsed {
    guard input.isEmpty else {
      input.append(bytes)
      return parse()
    }
    let outcome = look(at: bytes)
    if outcome.consumed < bytes.count { input.append(UnsafeRawBufferPointer(rebasing: bytes[outcome.consumed...])) }
    return outcome.parsed
  }

  private enum Look {
    case head(RequestHead, consumed: Int)
    case again(RequestHead)
    /// Empty lines before a head are used up as they come: they are no beginning of one.
    case incomplete(emptyLines: Int)
    case refused(Problem)

    var consumed: Int {
      switch self {
      case .head(_, let consumed), .incomplete(let consumed): consumed
      case .again(let head): head.size
      case .refused: 0
      }
    }

    var parsed: Parsed {
      switch self {
      case .head(let head, _): .head(head)
      case .again(let head): .again(head)
      case .incomplete: .incomplete
      case .refused(let problem): .refused(problem)
      }
    }
  }

  private func look(at bytes: UnsafeRawBufferPointer) -> Look {
    if let lastHead, parser.isAtStart, lastHead.isPrefix(of: bytes) { return .again(lastHead) }
    do throws(Problem) {
      switch try parser.parse(bytes) {
      case .head(let head, let consumed): return .head(head, consumed: consumed)
      case .incomplete: return .incomplete(emptyLines: parser.takeEmptyLines())
      }
    } catch {
      return .refused(error)
    }
  }

  /// Whether a head has begun to come. Empty lines before it are none of it (RFC 9112, 2.2), and half of one isn't either.
  var hasBegunHead: Bool {
    switch input.count {
    case 0: false
    case 1: input.withBytes { $0[0] != UInt8(ascii: "\r") }
    default: true
    }
  }

  /// Sets the time for the next head: idle before its first byte, shorter from then on. While the server stops, a head
  /// of which nothing more comes is soon given up.
  func timeHead() {
    let timing = hasBegunHead ? HeadTiming.head : .idle
    if headTiming != timing {
      headTiming = timing
      // Who is one too many is told so when the request is there, or at the latest when this short time is over.
      headDeadline =
        isRefused
        ? min(headDeadline, loop.now + loop.timeouts.linger)
        : loop.now + (timing == .idle ? loop.timeouts.idle : loop.timeouts.head)
      setDeadline(headDeadline)
    }
    if loop.isDraining { setDeadline(min(headDeadline, loop.now + loop.timeouts.drainSilence)) }
  }

  // MARK: Bodies

  /// Takes what has come of the body out of the input. Gives whether that was the rest.
  private func takeArrivedBody(
    upTo bound: Int,
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
    guard progress.announced <= bound else {
      isBodyBroken = true
      throw .bodyTooLarge(bound)
    }
    return progress.isDone
  }

  /// Hands on what has come of the body, without waiting.
  private func arriveBody() -> Arrival {
    arrive {
      input.append($0)
      body?.pace?.note(loop.now)
    }
  }

  /// From now on the body must make progress.
  func timeBody() {
    let pace = BodyPace(now: loop.now, timeouts: loop.timeouts)
    body?.pace = pace
    isTimedOut = false
    setDeadline(pace.deadline)
  }

  /// Whether the body has made progress, now that the time for it is over. If so, it gets more.
  private func keepsPace() -> Bool {
    guard var pace = body?.pace, pace.isKept(body?.received ?? 0, now: loop.now) else { return false }
    body?.pace = pace
    isTimedOut = false
    setDeadline(pace.deadline)
    return true
  }

  /// Forgets what has already come of a body that no handler wanted: if its coding is broken, the answer can still say
  /// that the connection ends.
  func passOverArrivedBody() {
    guard let progress = body, !progress.isDone, !isBodyBroken, progress.knownRemainder <= loop.limits.discardedBody
    else { return }
    _ = try? takeArrivedBody(upTo: progress.received + loop.limits.discardedBody) { _ in }
  }

  /// Reads and forgets what a handler left of the body, if that is little. Gives whether there is something to go on
  /// with.
  func discardBody(upTo bound: Int) -> Bool {
    do throws(Problem) {
      while try !takeArrivedBody(upTo: bound, { _ in }) {
        switch arriveBody() {
        case .bytes: break
        case .nothing:
          // The client may wait for the answer before it sends the rest.
          flush()
          return false
        case .timeout where keepsPace(): break
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

  func collect(upTo limit: Int) async throws -> [UInt8] {
    try await collect(upTo: limit, on: isolation)
  }

  private func collect(upTo limit: Int, on isolation: isolated LoopIsolation) async throws -> [UInt8] {
    try await connection.collectBody(expectsContinue: expectsContinue, upTo: limit)
  }
}

extension Connection {
  fileprivate func collectBody(expectsContinue: Bool, upTo limit: Int) async throws(Problem) -> [UInt8] {
    guard let progress = body, !progress.isDone else { return [] }
    let limit = min(limit, loop.limits.body)
    guard progress.knownRemainder <= limit else { throw .bodyTooLarge(limit) }
    // Who has begun to send needs not be told to, and may be about to be told something else.
    if expectsContinue, input.isEmpty, case .nothing = arriveBody() { sendContinue() }
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
    timeBody()
    while try !takeAndHold(upTo: bound, sink) {
      switch await receive() {
      case .bytes, .nothing: break
      case .timeout where keepsPace(): break
      case .end, .stopped: throw .incompleteBody
      case .timeout:
        loop.counters.timedOut.addAsOnlyWriter(1)
        throw Problem(.requestTimeout)
      }
    }
    isBodyBroken = false
  }

  /// Takes what has come of the body, and its share of the memory there is for bodies. Gives whether that was the rest.
  private func takeAndHold(upTo bound: Int, _ sink: (UnsafeRawBufferPointer) -> Void) throws(Problem) -> Bool {
    let before = body?.received ?? 0
    let isDone = try takeArrivedBody(upTo: bound, sink)
    guard holdBody((body?.received ?? 0) - before) else {
      isBodyBroken = !isDone
      throw .noMemoryForBody
    }
    return isDone
  }

  /// Waits for more input, until the deadline. What is to be sent is sent before: the client may wait for it.
  private func receive() async -> Arrival {
    flush()
    if !output.isEmpty {
      guard await flushed() else { return .end }
    }
    while true {
      let arrival = arriveBody()
      guard case .nothing = arrival else { return arrival }
      await wait(for: .input)
    }
  }
}

extension Connection {
  /// Counts so much of a body as held in memory. Gives whether there is room for it.
  func holdBody(_ count: Int) -> Bool {
    guard loop.holdBody(count) else { return false }
    heldBody += count
    return true
  }

  /// What was held of the request's body is held no more. However a request ends, this comes after it; what was given
  /// back isn't given back again.
  func giveBackBody() {
    guard heldBody > 0 else { return }
    loop.giveBackBody(heldBody)
    heldBody = 0
  }
}

extension Problem {
  fileprivate static var noMemoryForBody: Problem {
    var problem = Problem(
      .overloaded,
      detail: "The requests that are being answered hold as much memory as this server has for bodies. Try again soon."
    )
    problem.fields.append(.retryAfter, "1")
    return problem
  }

  fileprivate static var incompleteBody: Problem {
    Problem(.malformedRequest, detail: "The connection ended before the body did.")
  }
}
