import LockstepHTTP

/// Decides what a connection does next: each event returns the action that follows it.
///
/// `Connection` owns the socket, the buffers and the task. It reports an event, performs the action
/// and reports the outcome as the next event. Times are nanoseconds of the server's monotonic
/// clock. An event that does not belong to the state changes nothing and returns `wait`.
struct ConnectionStateMachine: Sendable {
  private(set) var state = State.readingHead(hasBegun: nil)
  private(set) var client = Client.open
  /// The parts of the exchange that the response depends on. `keepsAlive` is decided just before
  /// the response is written.
  private(set) var exchange = ResponseSerializer.Exchange(isHead: false, isVersion11: true, keepsAlive: true)
  /// When `Connection` must call `deadlinePassed()`.
  private(set) var deadline = Int64.max
  /// Whether the deadline has passed and the machine has not acted on that yet.
  private(set) var isTimedOut = false
  private var isDraining = false
  /// Whether the connection is beyond the limit, so that the server refuses it.
  let isSurplus: Bool
  /// When the head or the idle connection times out. While draining, `deadline` may be earlier.
  private var headDeadline = Int64.max
  /// How many bytes of an incomplete body the server has read; nil if the body is complete.
  private var unreadBody: Int?
  private var bodyRate: BodyRateCheck?
  /// Whether the client may still send when the connection ends.
  private var mayBeSending = false
  /// How much output was pending when the deadline for it was set; 0 without such a deadline.
  private var pendingOutput = 0
  private let bounds: ConnectionBounds

  init(bounds: ConnectionBounds, isSurplus: Bool = false) {
    self.bounds = bounds
    self.isSurplus = isSurplus
  }

  /// The action that the state requires without a new event.
  var next: Action {
    switch state {
    case .readingHead: .readHead
    case .responding: .wait
    case .handling: .serveHandler(cancels: isLeaving)
    case .parked, .streaming, .writing: .flush
    case .discardingBody(let bound): .discardBody(bound: bound)
    case .lingering: .discardInput
    case .closed: .close
    }
  }

  // MARK: Events of the loop

  /// The socket is ready, or the client has closed one or both sides.
  mutating func socketChanged(isFinished: Bool, isGone: Bool) -> Action {
    if isGone {
      client = .gone
    } else if isFinished, client == .open {
      client = .finished
    }
    return next
  }

  mutating func deadlinePassed() -> Action {
    deadline = .max
    isTimedOut = true
    return next
  }

  /// The waker was called. A late wake-up for an earlier request is harmless.
  mutating func woken() -> Action {
    switch state {
    case .parked: state = .parked(isWoken: true)
    case .streaming: state = .streaming(isWoken: true)
    default: return .wait
    }
    return next
  }

  mutating func drain() -> Action {
    isDraining = true
    return next
  }

  mutating func cut() -> Action {
    client = .gone
    return next
  }

  // MARK: Input

  mutating func headArrived(_ exchange: ResponseSerializer.Exchange) -> Action {
    guard case .readingHead = state else { return .wait }
    self.exchange = exchange
    clearDeadline()
    state = .responding
    return isSurplus ? .turnAway(hasHead: true) : .respond
  }

  /// All input that has arrived is read, with `received` bytes of the request's body.
  mutating func inputDry(hasBegunHead: Bool, received: Int, now: Int64) -> Action {
    switch state {
    case .readingHead(let hadBegun):
      if isTimedOut { return isSurplus ? .turnAway(hasHead: false) : .timeOutHead(hasBegun: hasBegunHead) }
      if isDraining, !hasBegunHead { return end() }
      timeHead(hadBegun, hasBegunHead, now)
      return .flush
    case .discardingBody:
      // The client may wait for the response before it sends more.
      return isTimedOut && !bodyRatePasses(received: received, now: now) ? end() : .flush
    case .lingering:
      return isTimedOut || (isDraining && unreadBody == nil) ? close() : .wait
    default: return .wait
    }
  }

  mutating func inputEnded() -> Action {
    switch state {
    case .readingHead, .discardingBody: end()
    case .lingering: close()
    default: .wait
    }
  }

  mutating func bodyDiscarded() -> Action {
    guard case .discardingBody = state else { return .wait }
    clearDeadline()
    return awaitHead()
  }

  mutating func inputDiscarded(_ count: Int) -> Action {
    guard case .lingering(let discarded) = state else { return .wait }
    guard discarded + count <= bounds.body else { return close() }
    state = .lingering(discarded: discarded + count)
    return .discardInput
  }

  /// From now on the request's body must make progress.
  mutating func awaitBody(received: Int, now: Int64) {
    setBodyRate(BodyRateCheck(now: now, count: received, bounds: bounds))
  }

  mutating func bodyArrived(now: Int64) { bodyRate?.bytesArrived(now) }

  /// Checks at the deadline whether the body has made progress. If so, it gets more time.
  mutating func bodyRatePasses(received: Int, now: Int64) -> Bool {
    guard var check = bodyRate, check.passes(received, now: now) else { return false }
    setBodyRate(check)
    return true
  }

  private mutating func setBodyRate(_ check: BodyRateCheck) {
    bodyRate = check
    isTimedOut = false
    deadline = check.deadline
  }

  /// Sets the deadline for the next head: the idle time before its first byte, then the time for a
  /// head. While the server drains, a client that is silent for `drainSilence` times out.
  private mutating func timeHead(_ hadBegun: Bool?, _ hasBegun: Bool, _ now: Int64) {
    if hadBegun != hasBegun {
      state = .readingHead(hasBegun: hasBegun)
      // A surplus connection gets its refusal when its request arrives, or after `linger`.
      headDeadline =
        isSurplus ? min(headDeadline, now + bounds.linger) : now + (hasBegun ? bounds.head : bounds.idle)
      deadline = headDeadline
    }
    if isDraining { deadline = min(headDeadline, now + bounds.drainSilence) }
  }

  // MARK: Responses

  /// Decides whether the connection is kept after the response, which is not yet written.
  mutating func decideKeepAlive(isStreamed: Bool, canSkipBody: Bool) {
    if isDraining || !canSkipBody || (isStreamed && !exchange.isVersion11) { exchange.keepsAlive = false }
  }

  /// The response is in the output.
  mutating func responded(mustFlush: Bool, unreadBody: Int?, now: Int64) -> Action {
    guard state == .responding else { return .wait }
    self.unreadBody = unreadBody
    return exchange.keepsAlive && !mustFlush ? goOn(now) : write()
  }

  mutating func refused(mayBeSending: Bool) -> Action {
    switch state {
    case .readingHead, .responding: break
    default: return .wait
    }
    self.mayBeSending = mayBeSending
    return end()
  }

  mutating func taskStarted() -> Action {
    guard state == .responding else { return .wait }
    state = .handling(.nothing)
    return next
  }

  mutating func taskEnded() {
    if case .handling = state { state = .responding }
  }

  /// Closes the connection before the body's end, so the client sees that the body is incomplete.
  mutating func streamFailed() -> Action { close() }

  /// The handler's task is suspended, or resumed (`nothing`).
  mutating func handlerWaits(for wait: HandlerWait) {
    if case .handling = state { state = .handling(wait) }
  }

  /// Whether the handler's wait is over: it got what it waits for, or can no longer get it.
  func canResumeHandler(hasInput: Bool, isDrained: Bool) -> Bool {
    switch state {
    case .handling(.input): hasInput || client == .gone || isTimedOut
    case .handling(.output): isDrained || client == .gone || isTimedOut
    default: false
    }
  }

  // MARK: Parked requests and streams

  mutating func parked(until deadline: Int64) -> Action {
    guard state == .responding else { return .wait }
    state = .parked(isWoken: false)
    return ask(isWoken: false, until: deadline)
  }

  mutating func streamBegan() -> Action {
    guard state == .responding else { return .wait }
    state = .streaming(isWoken: true)
    return .flush
  }

  /// The event source was asked; its piece is in the output.
  mutating func sourceGave(_ piece: EventPiece) -> Action {
    guard case .streaming = state else { return .wait }
    switch piece {
    // There may be more pieces, because wake-ups are merged while the client does not read.
    case .bytes: state = .streaming(isWoken: true)
    case .nothing where !isLeaving: break
    case .nothing, .end:
      state = .responding
      return .endStream
    }
    return .flush
  }

  private var isLeaving: Bool { client != .open || isDraining }

  /// Asks the parked request or the event source if there is a cause.
  private mutating func ask(isWoken: Bool, until deadline: Int64) -> Action {
    if client == .gone { return close() }
    guard isLeaving || isTimedOut || isWoken else {
      self.deadline = deadline
      return .wait
    }
    let cause = isLeaving ? WakeReason.leaving : isTimedOut ? .timeOver : .woken
    clearDeadline()
    if case .streaming = state {
      state = .streaming(isWoken: false)
      return .askSource(cause)
    }
    state = .responding
    return .askParked(cause)
  }

  // MARK: Output

  /// The client has taken all output.
  mutating func drained(hasUnreadInput: Bool, sourceDeadline: Int64, now: Int64) -> Action {
    switch state {
    case .writing:
      clearDeadline()
      if exchange.keepsAlive { return goOn(now) }
      guard client != .gone, mayBeSending || unreadBody != nil || hasUnreadInput else { return close() }
      // If a connection closes with unread input, the kernel resets it, and the reset may overtake
      // the response (RFC 9112, 9.6).
      state = .lingering(discarded: 0)
      deadline = now + bounds.linger
      return .finishWriting
    case .parked(let isWoken): return ask(isWoken: isWoken, until: deadline)
    case .streaming(let isWoken):
      pendingOutput = 0
      return ask(isWoken: isWoken, until: sourceDeadline)
    default: return .wait
    }
  }

  /// The client has not taken all output. `pending` is the rest, including the kernel's buffer. No
  /// output is added before the deadline, so `pending` decreases by what the client takes.
  mutating func blocked(pending: Int, now: Int64) -> Action {
    switch state {
    case .readingHead: _ = write()
    case .writing, .streaming, .handling: break
    case .parked(let isWoken): return ask(isWoken: isWoken, until: deadline)
    default: return .wait
    }
    guard pendingOutput == 0 || isTimedOut else { return .wait }
    guard pendingOutput == 0 || pendingOutput - pending >= bounds.leastOutput else {
      client = .gone
      if case .handling = state {} else { state = .closed }
      return .giveUp
    }
    pendingOutput = pending
    isTimedOut = false
    deadline = now + bounds.outputStall
    return .wait
  }

  mutating func handlerDrained(restoring deadline: Int64) {
    pendingOutput = 0
    isTimedOut = false
    self.deadline = deadline
  }

  // MARK: After a response

  mutating func clearDeadline() {
    deadline = .max
    isTimedOut = false
  }

  /// Goes on after a response: with the rest of the request's body, then with the next request.
  private mutating func goOn(_ now: Int64) -> Action {
    guard let unreadBody else { return awaitHead() }
    awaitBody(received: unreadBody, now: now)
    state = .discardingBody(bound: unreadBody + bounds.discardedBody)
    return next
  }

  private mutating func awaitHead() -> Action {
    unreadBody = nil
    state = .readingHead(hasBegun: nil)
    return .readHead
  }

  private mutating func write() -> Action {
    clearDeadline()
    pendingOutput = 0
    state = .writing
    return .flush
  }

  /// Ends the connection when the client has taken all output.
  private mutating func end() -> Action {
    exchange.keepsAlive = false
    return write()
  }

  private mutating func close() -> Action {
    state = .closed
    return .close
  }
}
