import LockstepHTTP

extension Connection {
  /// Responds to the request whose head has been read.
  func respond(isRepetition: Bool) -> Action {
    guard let head else { return .wait }
    loop.counters.requests.addAsOnlyWriter(1)
    if isRepetition, let kept, kept.validity.holds(at: loop.now) { return write(kept.present) }
    kept = nil
    var request = Request(head: head, body: beginBody(head), peer: peer, arrival: loop.now, loop: loop.index)
    request.isRepetition = isRepetition
    return take(loop.respond(request))
  }

  private func beginBody(_ head: RequestHead) -> RequestBody {
    body = nil
    guard head.body != .none else { return .bytes([]) }
    if case .length(let length) = head.body, length <= input.count, length <= loop.limits.body, holdBody(length) {
      // Most bodies come with their heads.
      defer { input.removeFirst(length) }
      return .bytes(input.withBytes { Array($0.prefix(length)) })
    }
    body = BodyProgress(head, limits: loop.limits)
    return .source(ConnectionDoor(to: self))
  }

  private func take(_ answer: HandlerResult) -> Action {
    switch answer {
    case .now(let response): return write(response)
    case .lasting(let response, let validity):
      let response = KeptResponse(response: response, validity: validity)
      if head?.body == RequestHead.Body.none, response.isShort { kept = response }
      return write(response.present)
    case .later(let work): return startTask { await self.decide { .now(try await work()) } }
    case .then(let work): return startTask { await self.decide(work) }
    case .held(let request): return park(request)
    case .events(let response, let source): return beginStream(response, source)
    }
  }

  /// Writes the response, or its head where the body is streamed.
  private func write(_ response: Response) -> Action {
    guard hasRoom(for: response) else { return refuseForOutput() }
    addDeciding(response)
    if case .stream(let write) = response.body, !machine.exchange.isHead, !response.status.forbidsBody {
      return startTask { await self.stream(write) }
    }
    return endResponse()
  }

  /// Whether a response may wait for its client, as far as memory goes. A short one goes into the
  /// kernel's buffer as a rule. A response to anything but `GET` may tell of a change, and 503
  /// would deny that; like a stream, it is sent, and counts once the kernel has taken what it
  /// takes.
  private func hasRoom(for response: Response) -> Bool {
    guard case .bytes(let bytes) = response.body, bytes.count >= OutputBuffer.longBody else { return true }
    return head?.method != .get || settleOutput(output.memory + bytes.count + Self.roomForHead)
  }

  /// What the head of a response takes at most, as a rule.
  private static var roomForHead: Int { 1024 }

  /// Responds that there is no memory for the response. The connection goes on.
  private func refuseForOutput() -> Action {
    loop.counters.refusedResponses.addAsOnlyWriter(1)
    loop.note(.overloaded, to: peer)
    let detail = "Responses that clients have not taken yet hold as much memory as this server has for them."
    var response = Problem.noRoom(detail).response
    response.fields.append(contentsOf: loop.refusalFields(head?[.origin]))
    return write(response)
  }

  /// Adds a whole response, or its head where the body is streamed, once it's decided whether the
  /// connection is kept.
  private func addDeciding(_ response: Response) {
    discardArrivedBody()
    let isStreamed = if case .stream = response.body { true } else { false }
    machine.decideKeepAlive(
      isStreamed: isStreamed,
      canSkipBody: body?.canBeSkipped(within: loop.limits.discardedBody) ?? true
    )
    add(response, for: machine.exchange)
  }

  /// From this size on what was gathered is sent before the next request is looked at.
  private static var flushSize: Int { 32 * 1024 }

  private func endResponse() -> Action {
    giveBackBody()
    return machine.responded(
      mustFlush: output.hasLongBody || output.count >= Self.flushSize,
      unreadBody: body.flatMap { $0.isDone ? nil : $0.received },
      now: loop.now
    )
  }

  // MARK: Handlers that wait

  /// Starts a handler's task. It belongs to the connection and ends with its response; it's no
  /// child of another task because it must be cancelled alone, when its client goes away.
  private func startTask(_ work: @escaping @Sendable () async -> Action) -> Action {
    // Responses to earlier requests must not wait for this handler.
    flush()
    let isolation = loop.isolation
    task = Task(executorPreference: loop) { await self.run(work, on: isolation) }
    return machine.taskStarted()
  }

  private func run(_ work: @Sendable () async -> Action, on isolation: isolated LoopIsolation) async {
    perform(await work())
  }

  private func endTask() {
    task = nil
    machine.taskEnded()
  }

  private func decide(_ work: @Sendable () async throws -> HandlerResult) async -> Action {
    let answer: HandlerResult
    do {
      answer = try await work()
    } catch {
      answer = .now((error as? Problem ?? Problem(.internal)).response)
    }
    endTask()
    return take(answer)
  }

  private func stream(_ write: @Sendable (any BodyWriter) async throws -> Void) async -> Action {
    do {
      try await write(ConnectionDoor(to: self))
    } catch {
      task = nil
      return machine.streamFailed()
    }
    gatherEnd()
    endTask()
    return endResponse()
  }

  // MARK: Parked requests and streams

  private func park(_ request: any ParkedRequest) -> Action {
    // Responses to earlier requests must not wait for this one.
    flush()
    let deadline = request.deadline
    parked = request
    request.hold(ConnectionWaker(of: self))
    return machine.parked(until: deadline)
  }

  func askParked(_ cause: WakeReason) -> Action {
    guard let request = parked else { return .wait }
    releaseParked()
    return take(request.answer(cause))
  }

  private func beginStream(_ response: Response, _ source: any EventSource) -> Action {
    var response = response
    // Only to say how the body ends; it is written through the source.
    response.body = .stream { _ in }
    addDeciding(response)
    guard !machine.exchange.isHead else { return endResponse() }
    self.source = source
    source.hold(ConnectionWaker(of: self))
    return machine.streamBegan()
  }

  func askSource(_ cause: WakeReason) -> Action {
    let piece = source?.next(cause) ?? .end
    if case .bytes(let bytes) = piece { gather(piece: bytes) }
    return machine.sourceGave(piece)
  }

  func endStream() -> Action {
    releaseParked()
    gatherEnd()
    return endResponse()
  }

  /// Nothing waits on this connection any more.
  func releaseParked() {
    parked?.release()
    source?.release()
    parked = nil
    source = nil
  }

  // MARK: Refusing

  /// Responds to what isn't a request; the connection ends after it.
  func refuse(_ problem: Problem) -> Action {
    loop.counters.malformed.addAsOnlyWriter(1)
    return refuse(problem, to: nil, mayBeSending: true)
  }

  /// Responds on a connection that is one too many: to its request, where that came in time, since
  /// the response may depend on it, and with it read, the connection needn't linger.
  func turnAway(_ head: RequestHead?) -> Action {
    let problem = Problem.noRoom("The server has as many connections as it takes.")
    return refuse(problem, to: head, mayBeSending: head.map { $0.body != .none } ?? hasBegunHead)
  }

  private func refuse(_ problem: Problem, to head: RequestHead?, mayBeSending: Bool) -> Action {
    let isHead = head.map { $0.method == .head } ?? input.withBytes { RefusedHead.isHead($0) }
    let origin = head.map { $0[.origin] } ?? input.withBytes { RefusedHead.origin(in: $0) }
    var response = problem.response
    response.fields.append(contentsOf: loop.refusalFields(origin))
    loop.note(problem.kind, to: peer)
    add(response, for: .init(isHead: isHead, isVersion11: head?.isVersion11 ?? true, keepsAlive: false))
    return machine.refused(mayBeSending: mayBeSending)
  }
}
