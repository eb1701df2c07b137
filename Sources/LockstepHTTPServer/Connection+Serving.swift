import LockstepHTTP

extension Connection {
  /// Reads the next request and answers it. Gives whether there is something to go on with.
  func takeRequest() -> Bool {
    var parsed = input.isEmpty ? Parsed.incomplete : parse()
    while true {
      switch parsed {
      case .head(let head):
        if isRefused { turnAway(head) } else { answer(head) }
        return true
      case .again(let head):
        answerAgain(head)
        return true
      case .refused(let problem):
        refuse(problem)
        return true
      case .incomplete: break
      }
      switch arrive({ parsed = self.parse(arrived: $0) }) {
      case .bytes: break
      case .timeout:
        if isRefused { turnAway(nil) } else { noteHeadTimeout() }
        return true
      case .end, .stopped:
        proceed(.end)
        return true
      case .nothing:
        return sendBeforeWaiting()
      }
    }
  }

  /// What was answered goes out before anything is waited for. Gives whether that is what must be waited for.
  private func sendBeforeWaiting() -> Bool {
    flush()
    guard output.isEmpty else {
      setStage(.sending(then: .nextRequest))
      return true
    }
    timeHead()
    return false
  }

  /// Gives the last response again, where it's still right.
  private func answerAgain(_ head: RequestHead) {
    guard let lasting, lasting.premise.holds(at: loop.now) else { return answer(head, isRepetition: true) }
    beginAnswer()
    conclude(head, lasting.present)
  }

  private func beginAnswer() {
    clearDeadline()
    headTiming = .none
    loop.counters.requests.addAsOnlyWriter(1)
  }

  private func answer(_ head: RequestHead, isRepetition: Bool = false) {
    beginAnswer()
    lasting = nil
    lastHead = head.body == .none ? head : nil
    var request = Request(head: head, body: beginBody(head), peer: peer, arrival: loop.now, loop: loop.index)
    request.isRepetition = isRepetition
    take(loop.respond(request), to: head)
  }

  func take(_ answer: Answer, to head: RequestHead) {
    switch answer {
    case .now(let response): conclude(head, response)
    case .lasting(let response, let premise):
      keep(response, as: premise)
      conclude(head, Lasting(response: response, premise: premise).present)
    case .later(let work): startTask { await self.handle(head, work) }
    case .then(let work): startTask { await self.decide(head, work) }
    case .held(let request): hold(Hold(request: request, head: head))
    case .events(let response, let source): beginStreaming(response, source, to: head)
    }
  }

  private func keep(_ response: Response, as premise: any ResponseValidity) {
    guard lastHead != nil else { return }
    switch response.body {
    case .none: break
    case .bytes(let bytes): guard bytes.count <= Lasting.longestBody else { return }
    case .stream: return
    }
    lasting = Lasting(response: response, premise: premise)
  }

  private func beginBody(_ head: RequestHead) -> RequestBody {
    guard head.body != .none else { return .bytes([]) }
    if case .length(let length) = head.body, length <= input.count, length <= loop.limits.body, holdBody(length) {
      // Most bodies come with their heads.
      defer { input.removeFirst(length) }
      return .bytes(input.withBytes { Array($0.prefix(length)) })
    }
    hasSentContinue = false
    isBodyBroken = false
    body = BodyProgress(head, limits: loop.limits)
    return .source(ConnectionBody(of: self, expectsContinue: head.expectsContinue))
  }

  // MARK: Handlers that wait

  /// Starts a handler's task. It belongs to the connection and ends with its answer; it's no child of another task
  /// because it must be cancelled alone, when its client goes away.
  private func startTask(_ work: @escaping @Sendable () async -> Void) {
    // Answers to earlier requests must not wait for this handler.
    flush()
    stage = .handling
    let isolation = loop.isolation
    task = Task(executorPreference: loop) { await self.run(work, on: isolation) }
    // If the client has already gone, or the server stops, the handler is told so from the start.
    if isFinished || loop.isDraining { task?.cancel() }
  }

  private func run(_ work: @Sendable () async -> Void, on isolation: isolated LoopIsolation) async {
    await work()
    advance()
  }

  private func handle(_ head: RequestHead, _ work: @Sendable () async throws -> Response) async {
    let response: Response
    do {
      response = try await work()
    } catch {
      response = (error as? Problem ?? Problem(.internal)).response
    }
    task = nil
    conclude(head, response)
  }

  private func decide(_ head: RequestHead, _ work: @Sendable () async throws -> Answer) async {
    let answer: Answer
    do {
      answer = try await work()
    } catch {
      answer = .now((error as? Problem ?? Problem(.internal)).response)
    }
    task = nil
    take(answer, to: head)
  }

  private func stream(
    _ write: @Sendable (any BodyWriter) async throws -> Void,
    isChunked: Bool,
    then next: Continuation
  ) async {
    do {
      try await write(ConnectionWriter(to: self, isChunked: isChunked))
      if isChunked { gather { $0.appendLastChunk() } }
      task = nil
      proceed(next)
    } catch {
      // The body isn't whole: without its last chunk, and with the connection cut, the client can see that.
      task = nil
      stage = .over
    }
  }

  // MARK: After a handler

  /// Writes the answer, or its head where the body is streamed, and goes on to what follows it.
  func conclude(_ head: RequestHead, _ response: Response) {
    passOverArrivedBody()
    // A body that is written piece by piece may be made of the request's.
    if case .stream = response.body {} else { giveBackBody() }
    let exchange = ResponseSerializer.Exchange(
      isHead: head.method == .head,
      isVersion11: head.isVersion11,
      keepsAlive: canKeepAlive(head, response)
    )
    let next = exchange.keepsAlive ? Continuation.nextRequest : .end
    add(response, for: exchange)
    if case .stream(let write) = response.body, !exchange.isHead, !response.status.forbidsBody {
      return startTask { await self.stream(write, isChunked: head.isVersion11, then: next) }
    }
    if output.hasLongBody || output.count >= Self.flushSize {
      flush()
      guard output.isEmpty else { return setStage(.sending(then: next)) }
    }
    proceed(next)
  }

  /// From this size on what was gathered is sent before the next request is looked at.
  private static var flushSize: Int { 32 * 1024 }

  func canKeepAlive(_ head: RequestHead, _ response: Response) -> Bool {
    guard head.keepsAlive, !loop.isDraining else { return false }
    if case .stream = response.body, !head.isVersion11 { return false }
    guard let body else { return true }
    guard !isBodyBroken else { return false }
    if body.isDone { return true }
    // Who was not told to go on may never send the body, and what comes next could be either.
    let isComing = !head.expectsContinue || hasSentContinue
    return isComing && body.knownRemainder <= loop.limits.discardedBody
  }

  /// Goes on behind an answer: with what is left of the request's body, then with the next request, or to the end.
  func proceed(_ next: Continuation) {
    giveBackBody()
    switch next {
    case .nextRequest:
      if let body, !body.isDone {
        setStage(.discarding(bound: body.received + loop.limits.discardedBody))
      } else {
        body = nil
        setStage(.awaitingHead)
      }
    case .end: finish()
    }
  }

  /// Sends what is left and closes so that the client can still read it: closing with unread input would have the
  /// kernel reset the connection, and the reset may overtake the answer (RFC 9112, 9.6).
  private func finish() {
    flush()
    guard output.isEmpty else { return setStage(.sending(then: .end)) }
    guard !isBroken, mayBeSendingStill || !(body?.isDone ?? true) || !input.isEmpty else { return stage = .over }
    socket.finishWriting()
    input = InputBuffer()
    setStage(.lingering(discarded: 0))
  }

  /// Enters a stage, with the deadline that belongs to it.
  func setStage(_ stage: Stage) {
    self.stage = stage
    switch stage {
    case .sending: timeOutput()
    case .discarding: timeBody()
    case .lingering:
      isTimedOut = false
      setDeadline(loop.now + loop.timeouts.linger)
    default: break
    }
  }

  /// Forgets what a closing client still sends. Gives whether there is something to go on with.
  func linger(_ discarded: Int) -> Bool {
    var discarded = discarded
    while discarded <= loop.limits.body {
      switch arrive({ discarded += $0.count }) {
      case .bytes: break
      case .nothing:
        stage = .lingering(discarded: discarded)
        return false
      case .end, .timeout, .stopped:
        stage = .over
        return true
      }
    }
    stage = .over
    return true
  }

  // MARK: Refusing

  /// Answers what isn't a request; the connection ends after it.
  private func refuse(_ problem: Problem) {
    loop.counters.malformed.addAsOnlyWriter(1)
    mayBeSendingStill = true
    let isHead = input.withBytes { RefusedHead.isHead($0) }
    var response = problem.response
    response.fields.append(contentsOf: loop.refusalFields(input.withBytes { RefusedHead.origin(in: $0) }))
    loop.note(problem.kind, to: peer)
    add(response, for: .init(isHead: isHead, isVersion11: true, keepsAlive: false))
    proceed(.end)
  }

  private func noteHeadTimeout() {
    loop.counters.timedOut.addAsOnlyWriter(1)
    if hasBegunHead { refuse(Problem(.requestTimeout)) } else { proceed(.end) }
  }

  /// Answers a connection that is one too many: with its request, where that came in time, since what may be answered
  /// depends on it, and with it read, the connection needn't linger.
  private func turnAway(_ head: RequestHead?) {
    var problem = Problem(.overloaded, detail: "The server has as many connections as it takes. Try again soon.")
    problem.fields.append(.retryAfter, "1")
    mayBeSendingStill = head.map { $0.body != .none } ?? hasBegunHead
    var response = problem.response
    let origin = head.map { $0[.origin] } ?? input.withBytes { RefusedHead.origin(in: $0) }
    response.fields.append(contentsOf: loop.refusalFields(origin))
    let isHead = head.map { $0.method == .head } ?? input.withBytes { RefusedHead.isHead($0) }
    loop.note(problem.kind, to: peer)
    add(response, for: .init(isHead: isHead, isVersion11: head?.isVersion11 ?? true, keepsAlive: false))
    proceed(.end)
  }
}
