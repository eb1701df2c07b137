import LockstepHTTP

/// What one connection does next, as a value: it takes events and returns the action that follows
/// each.
///
/// It has no socket, no buffer, no task and no clock. `Connection` owns those: it reports what
/// happened, performs the action, and reports the outcome of that. Times are nanoseconds of the
/// server's monotonic clock. An event that does not belong to the state changes nothing and returns
/// `wait`.
struct ConnectionStateMachine: Sendable {
  enum State: Equatable, Sendable {
    /// Between two requests, or in the middle of a head. `hasBegun` is what the deadline was set
    /// for; nil if it wasn't.
    case readingHead(hasBegun: Bool?)
    /// The responder, or a parked request, is making the response.
    case responding
    /// A handler's task is running: it alone decides what follows.
    case handling(HandlerWait)
    /// The request waits until there is something to respond with.
    case parked(isWoken: Bool)
    /// The body of the response comes piece by piece.
    case streaming(isWoken: Bool)
    /// The client must take the output before anything else happens.
    case writing
    /// The rest of a body that no handler read is thrown away, up to this many bytes of the whole
    /// body.
    case discardingBody(bound: Int)
    /// The response is sent; what the client is still sending is thrown away.
    case lingering(discarded: Int)
    case closed
  }

  /// What a handler's task is suspended for.
  enum HandlerWait: Sendable {
    case nothing, input, output
  }

  /// How much of the other side is still there.
  enum Client: Sendable {
    /// It may send and read.
    case open
    /// It sends no more. It may still read: a half-closed connection gets its response.
    case finished
    /// It neither sends nor reads.
    case gone
  }

  enum Action: Equatable, Sendable {
    /// Return to the loop until the next event.
    case wait
    /// Send what is gathered, then report `drained` or `blocked`.
    case flush
    /// Read until a head is complete.
    case readHead
    /// Respond to the head that was read.
    case respond(isRepetition: Bool)
    /// Respond with 503: this connection is one too many. Without a head, the client took too long
    /// to send one.
    case turnAway(hasHead: Bool)
    /// The time for a head is over: respond with 408 if one has begun.
    case timeOutHead(hasBegun: Bool)
    /// Read and throw away the rest of the request's body.
    case discardBody(bound: Int)
    /// Read and throw away whatever comes.
    case discardInput
    /// Tell the client that nothing more comes, then throw away whatever it still sends.
    case finishWriting
    /// Ask the parked request for its response.
    case askParked(WakeReason)
    /// Ask the event source for its next piece.
    case askSource(WakeReason)
    /// End the streamed body.
    case endStream
    /// Let the handler's task go on if what it waits for is there; cancel it first if it waits in
    /// vain.
    case serveHandler(cancels: Bool)
    /// The client takes too little: drop the output and close.
    case giveUp
    case close
  }

  private(set) var state = State.readingHead(hasBegun: nil)
  private(set) var client = Client.open
  /// The present request, and whether the connection is kept after it.
  private(set) var exchange = ResponseSerializer.Exchange(isHead: false, isVersion11: true, keepsAlive: true)
  /// When `deadlinePassed` is wanted.
  private(set) var deadline = Int64.max
  /// The deadline passed, and what it means is not decided yet.
  private(set) var isTimedOut = false
  private var isDraining = false
  /// The connection is one too many: it gets a refusal.
  let isSurplus: Bool
  /// When the time for the head, or for being idle, is over, whatever else is waited for until
  /// then.
  private var headDeadline = Int64.max
  /// How much of the request's body came, if there is more of it.
  private var unreadBody: Int?
  private var bodyPace: BodyPace?
  /// The client may not have sent all that it wants to when the connection ends.
  private var mayBeSending = false
  /// How much the client had still to take when the deadline for it was set; 0 without such a
  /// deadline.
  private var untaken = 0
  private let bounds: ConnectionBounds

  init(bounds: ConnectionBounds, isSurplus: Bool = false) {
    self.bounds = bounds
    self.isSurplus = isSurplus
  }

  /// What the state asks for when nothing in particular has happened.
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

  // MARK: What the loop reports

  /// The socket is ready for more, or the client has gone, wholly or by half.
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

  /// There may be something for the parked request or the stream. A wake-up for an earlier request
  /// does no harm.
  mutating func woken() -> Action {
    switch state {
    case .parked: state = .parked(isWoken: true)
    case .streaming: state = .streaming(isWoken: true)
    default: return .wait
    }
    return next
  }

  /// The server stops.
  mutating func drain() -> Action {
    isDraining = true
    return next
  }

  /// Nothing more can be read or written, or may be.
  mutating func cut() -> Action {
    client = .gone
    return next
  }

  // MARK: Input

  /// A head is complete; `exchange` says what its request asks for.
  mutating func headArrived(_ exchange: ResponseSerializer.Exchange, isRepetition: Bool) -> Action {
    guard case .readingHead = state else { return .wait }
    self.exchange = exchange
    clearDeadline()
    state = .responding
    return isSurplus ? .turnAway(hasHead: true) : .respond(isRepetition: isRepetition)
  }

  /// All that came is read. `received` bytes of the request's body have come so far.
  mutating func inputDry(hasBegunHead: Bool, received: Int, now: Int64) -> Action {
    switch state {
    case .readingHead(let hadBegun):
      if isTimedOut { return isSurplus ? .turnAway(hasHead: false) : .timeOutHead(hasBegun: hasBegunHead) }
      if isDraining, !hasBegunHead { return end() }
      timeHead(hadBegun, hasBegunHead, now)
      return .flush
    case .discardingBody:
      // The client may wait for the response before it sends the rest.
      return isTimedOut && !keepsBodyPace(received: received, now: now) ? end() : .flush
    case .lingering:
      return isTimedOut || (isDraining && unreadBody == nil) ? close() : .wait
    default: return .wait
    }
  }

  /// The client sends no more, or what it sends cannot be read.
  mutating func inputEnded() -> Action {
    switch state {
    case .readingHead, .discardingBody: end()
    case .lingering: close()
    default: .wait
    }
  }

  /// The rest of the request's body was read and thrown away.
  mutating func bodyDiscarded() -> Action {
    guard case .discardingBody = state else { return .wait }
    clearDeadline()
    return awaitHead()
  }

  /// So many bytes were read and thrown away while the connection closes.
  mutating func inputDiscarded(_ count: Int) -> Action {
    guard case .lingering(let discarded) = state else { return .wait }
    guard discarded + count <= bounds.body else { return close() }
    state = .lingering(discarded: discarded + count)
    return .discardInput
  }

  /// From now on the request's body must make progress.
  mutating func awaitBody(received: Int, now: Int64) {
    let pace = BodyPace(now: now, count: received, bounds: bounds)
    bodyPace = pace
    isTimedOut = false
    deadline = pace.deadline
  }

  /// More of the request's body came.
  mutating func bodyArrived(now: Int64) { bodyPace?.note(now) }

  /// Whether the body has made progress, now that the time for it is over. If so, it gets more.
  mutating func keepsBodyPace(received: Int, now: Int64) -> Bool {
    guard var pace = bodyPace, pace.isKept(received, now: now) else { return false }
    bodyPace = pace
    isTimedOut = false
    deadline = pace.deadline
    return true
  }

  /// Sets the time for the next head: idle before its first byte, shorter from then on. While the
  /// server stops, a head of which nothing more comes is soon given up.
  private mutating func timeHead(_ hadBegun: Bool?, _ hasBegun: Bool, _ now: Int64) {
    if hadBegun != hasBegun {
      state = .readingHead(hasBegun: hasBegun)
      // A connection that is one too many gets its refusal with its request, or at the latest after
      // this short time.
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

  /// The response is in the output, as far as the shell knows it whole. `unreadBody`: how much of
  /// the request's body has come, if that is not all of it.
  mutating func responded(mustFlush: Bool, unreadBody: Int?, now: Int64) -> Action {
    guard state == .responding else { return .wait }
    self.unreadBody = unreadBody
    return exchange.keepsAlive && !mustFlush ? goOn(now) : write()
  }

  /// A refusal is in the output; the connection ends after it.
  mutating func refused(mayBeSending: Bool) -> Action {
    switch state {
    case .readingHead, .responding: break
    default: return .wait
    }
    self.mayBeSending = mayBeSending
    return end()
  }

  /// A handler's task was started.
  mutating func taskStarted() -> Action {
    guard state == .responding else { return .wait }
    state = .handling(.nothing)
    return next
  }

  /// The handler's task has its result, with which the shell goes on.
  mutating func taskEnded() {
    if case .handling = state { state = .responding }
  }

  /// A streamed body failed: without its end, and with the connection closed, the client sees that
  /// it is not whole.
  mutating func streamFailed() -> Action { close() }

  /// The handler's task is suspended, or goes on (`nothing`).
  mutating func handlerWaits(for wait: HandlerWait) {
    if case .handling = state { state = .handling(wait) }
  }

  /// Whether there is what the suspended handler waits for, or no more use in waiting.
  func canResumeHandler(hasInput: Bool, isDrained: Bool) -> Bool {
    switch state {
    case .handling(.input): hasInput || client == .gone || isTimedOut
    case .handling(.output): isDrained || client == .gone || isTimedOut
    default: false
    }
  }

  // MARK: Parked requests and streams

  /// The request waits until this time at the latest.
  mutating func parked(until deadline: Int64) -> Action {
    guard state == .responding else { return .wait }
    state = .parked(isWoken: false)
    return ask(isWoken: false, until: deadline)
  }

  /// The head of a streamed body is in the output.
  mutating func streamBegan() -> Action {
    guard state == .responding else { return .wait }
    state = .streaming(isWoken: true)
    return .flush
  }

  /// The event source was asked; its piece is in the output.
  mutating func sourceGave(_ piece: EventPiece) -> Action {
    guard case .streaming = state else { return .wait }
    switch piece {
    // There may be more: many wake-ups while the client did not read were one.
    case .bytes: state = .streaming(isWoken: true)
    case .nothing where !isLeaving: break
    case .nothing, .end:
      state = .responding
      return .endStream
    }
    return .flush
  }

  private var isLeaving: Bool { client != .open || isDraining }

  /// Asks the parked request or the event source if there is a cause; otherwise waits for one until
  /// `deadline`.
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

  /// The client has taken all output. `hasUnreadInput`: it has sent something that will not be
  /// looked at if the connection ends. `sourceDeadline`: when the event source wants to be asked at
  /// the latest.
  mutating func drained(hasUnreadInput: Bool, sourceDeadline: Int64, now: Int64) -> Action {
    switch state {
    case .writing:
      clearDeadline()
      if exchange.keepsAlive { return goOn(now) }
      guard client != .gone, mayBeSending || unreadBody != nil || hasUnreadInput else { return close() }
      // Closing with unread input would have the kernel reset the connection, and the reset may
      // overtake the response (RFC 9112, 9.6).
      state = .lingering(discarded: 0)
      deadline = now + bounds.linger
      return .finishWriting
    case .parked(let isWoken): return ask(isWoken: isWoken, until: deadline)
    case .streaming(let isWoken):
      untaken = 0
      return ask(isWoken: isWoken, until: sourceDeadline)
    default: return .wait
    }
  }

  /// The client does not take all output now: it has still so much to take, with what the kernel
  /// holds for it. It gets time to take some of it; if it took too little in its time, it is given
  /// up. Nothing is added to the output meanwhile, so the difference is what it took.
  mutating func blocked(pending: Int, now: Int64) -> Action {
    switch state {
    case .readingHead: _ = write()
    case .writing, .streaming, .handling: break
    case .parked(let isWoken): return ask(isWoken: isWoken, until: deadline)
    default: return .wait
    }
    guard untaken == 0 || isTimedOut else { return .wait }
    guard untaken == 0 || untaken - pending >= bounds.leastOutput else {
      client = .gone
      if case .handling = state {} else { state = .closed }
      return .giveUp
    }
    untaken = pending
    isTimedOut = false
    deadline = now + bounds.outputStall
    return .wait
  }

  /// The handler's output is taken: it has again the deadline that it had before.
  mutating func handlerDrained(restoring deadline: Int64) {
    untaken = 0
    isTimedOut = false
    self.deadline = deadline
  }

  // MARK: What follows a response

  mutating func clearDeadline() {
    deadline = .max
    isTimedOut = false
  }

  /// Goes on behind a response: with what is left of the request's body, then with the next
  /// request.
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

  /// Has all output taken before anything else happens.
  private mutating func write() -> Action {
    clearDeadline()
    untaken = 0
    state = .writing
    return .flush
  }

  /// Ends the connection when its output is taken.
  private mutating func end() -> Action {
    exchange.keepsAlive = false
    return write()
  }

  private mutating func close() -> Action {
    state = .closed
    return .close
  }
}
