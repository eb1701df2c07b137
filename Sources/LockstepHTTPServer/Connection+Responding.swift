import LockstepHTTP

extension Connection {
  func respond() -> Action {
    loop.counters.add(1, to: .requests)
    if let recent, recent.response != nil {
      if recent.holds(for: peer, at: loop.now) { return writeResponse(of: recent) }
      recent.response = nil
    }
    guard let head else { return .wait }
    var request = Request(head: head, body: beginBody(head), peer: peer, arrival: loop.now, loop: loop.index)
    request.isRepetition = recent != nil
    return take(loop.respond(request))
  }

  private func beginBody(_ head: RequestHead) -> RequestBody {
    body = nil
    guard head.body != .none else { return .bytes([]) }
    if case .length(let length) = head.body, length <= input.count, length <= loop.limits.body, holdBody(length) {
      // Most bodies arrive with their heads.
      defer { input.removeFirst(length) }
      return .bytes(input.withBytes { Array($0.prefix(length)) })
    }
    body = BodyReader(head, limits: loop.limits)
    return .source(ConnectionHandle(to: self))
  }

  private func take(_ result: HandlerResult) -> Action {
    switch result {
    case .response(let response): return write(response)
    case .reusable(let response, let validity):
      if let recent, recent.head.body == .none, let encoded = EncodedResponse(response) {
        let reusable = ReusableResponse(host: peer.host, response: encoded, validity: validity)
        if loop.recentRequests.keep(reusable, for: recent) { return writeResponse(of: recent) }
      }
      var response = response
      response.fields.append(contentsOf: validity.fields)
      return write(response)
    case .async(let work): return startTask { await self.finish(work) }
    case .parked(let request): return park(request)
    case .eventStream(let response, let source): return beginStream(response, source)
    }
  }

  /// Writes a response, or the head of a streamed one.
  private func write(_ response: Response) -> Action {
    if let refusal = reserveOutput(for: response) { return refuse(for: refusal) }
    addDeciding(response)
    if case .stream(_, let write) = response.body, !machine.exchange.isHead, !response.status.forbidsBody {
      return startTask { await self.stream(write) }
    }
    return endResponse()
  }

  /// Writes a response again. There is always room for it, because it is short.
  private func writeResponse(of request: RecentRequest) -> Action {
    // The request has no body, but an earlier one on this connection may have had one.
    body = nil
    machine.decideKeepAlive(isStreamed: false, canSkipBody: true)
    gather { request.appendResponse(for: machine.exchange, dateField: loop.dateField, to: &$0) }
    return endResponse()
  }

  /// Reserves memory for a response until the client has read it, or returns why there is none. A
  /// short response is always sent, because it usually fits into the kernel's buffer. So is a
  /// response to a method other than `GET`: it may confirm a change, which a 503 would deny. Both
  /// are counted afterwards.
  private func reserveOutput(for response: Response) -> SharedMemory.Refusal? {
    guard head?.method == .get else { return nil }
    switch response.body {
    case .none: return nil
    case .bytes(let bytes): return reserveOutput(bytes.count)
    case .pieces(let pieces): return reserveOutput(pieces.count + OutputBuffer.slice)
    case .stream(let holding, _):
      heldByStream = holding
      let refusal = settleOutput(output.memory)
      if refusal != nil { heldByStream = 0 }
      return refusal
    }
  }

  private func reserveOutput(_ count: Int) -> SharedMemory.Refusal? {
    // A head usually has at most 1024 bytes.
    count < OutputBuffer.longBody ? nil : settleOutput(output.memory + count + 1024)
  }

  /// Responds with 503, because there is no memory for the response. The connection stays open.
  private func refuse(for refusal: SharedMemory.Refusal) -> Action {
    loop.counters.add(1, to: .refusedResponses)
    let detail =
      switch refusal {
      case .full: "Responses that clients have not read yet use all memory that this server has for them."
      case .shareUsed:
        "This response does not fit into your share of the memory for responses that clients have not read yet."
      }
    var response = Problem.noRoom(detail).response
    response.fields.append(contentsOf: loop.noteRefusal(.overloaded, of: peer, origin: head?[.origin]))
    return write(response)
  }

  /// Decides whether the connection is kept, then adds the response or the head of a streamed one.
  private func addDeciding(_ response: Response) {
    discardArrivedBody()
    let isStreamed = if case .stream = response.body { true } else { false }
    machine.decideKeepAlive(
      isStreamed: isStreamed,
      canSkipBody: body?.canBeSkipped(within: loop.limits.discardedBody) ?? true
    )
    add(response, for: machine.exchange)
  }

  /// From this size on, gathered output is sent before the next request is parsed.
  private static var flushSize: Int { 32 * 1024 }

  private func endResponse() -> Action {
    releaseBody()
    return machine.responded(
      mustFlush: output.hasLongBody || output.count >= Self.flushSize,
      unreadBody: body.flatMap { $0.isDone ? nil : $0.received },
      now: loop.now
    )
  }

  // MARK: Handlers that wait

  /// The task is not a child task, because it is cancelled alone when its client leaves.
  private func startTask(_ work: @escaping @Sendable () async -> Action) -> Action {
    // Earlier responses must not wait for this handler.
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

  private func finish(_ work: @Sendable () async throws -> HandlerResult) async -> Action {
    let result: HandlerResult
    do {
      result = try await work()
    } catch {
      result = .response((error as? Problem ?? Problem(.internal)).response)
    }
    endTask()
    return take(result)
  }

  private func stream(_ write: @Sendable (any BodyWriter) async throws -> Void) async -> Action {
    defer {
      heldByStream = 0
      settleOutput(output.memory)
    }
    do {
      try await write(ConnectionHandle(to: self))
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
    // Earlier responses must not wait for this request.
    flush()
    let deadline = request.deadline
    parked = request
    request.park(waker)
    return machine.parked(until: deadline)
  }

  func askParked(_ cause: WakeReason) -> Action {
    guard let request = parked else { return .wait }
    releaseParked()
    return take(request.resume(cause))
  }

  private func beginStream(_ response: Response, _ source: any EventSource) -> Action {
    var response = response
    // This sets only the framing: the source makes the body.
    response.body = .stream { _ in }
    addDeciding(response)
    guard !machine.exchange.isHead else { return endResponse() }
    self.source = source
    source.park(waker)
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

  func releaseParked() {
    parked?.unpark()
    source?.unpark()
    parked = nil
    source = nil
  }

  // MARK: Refusing

  /// Responds to invalid input with a problem, then closes the connection.
  func refuse(_ problem: Problem) -> Action {
    loop.counters.add(1, to: .malformed)
    return refuse(problem, to: nil, mayBeSending: true)
  }

  /// Refuses a surplus connection, which need not linger if a request without a body has arrived.
  func turnAway(_ head: RequestHead?) -> Action {
    let problem = Problem.noRoom(Problem.tooManyConnections)
    return refuse(problem, to: head, mayBeSending: head.map { $0.body != .none } ?? hasBegunHead)
  }

  private func refuse(_ problem: Problem, to head: RequestHead?, mayBeSending: Bool) -> Action {
    let isHead = head.map { $0.method == .head } ?? input.withBytes { MalformedHead.isHead($0) }
    let origin = head.map { $0[.origin] } ?? input.withBytes { MalformedHead.origin(in: $0) }
    var response = problem.response
    response.fields.append(contentsOf: loop.noteRefusal(problem.kind, of: peer, origin: origin))
    add(response, for: .init(isHead: isHead, isVersion11: head?.isVersion11 ?? true, keepsAlive: false))
    return machine.refused(mayBeSending: mayBeSending)
  }
}

/// Finds, in a head that the parser refused, the parts that the response depends on.
private enum MalformedHead {
  /// Whether the method is `HEAD`, whose response has no body. Empty lines may come first.
  static func isHead(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.drop { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }.starts(with: "HEAD ".utf8)
  }

  /// The value of the first `Origin` line, which decides whether a page may read the response.
  static func origin(in bytes: UnsafeRawBufferPointer) -> String? {
    for line in bytes.prefix(64 * 1024).split(separator: UInt8(ascii: "\n"), maxSplits: 200).dropFirst() {
      let name = line.prefix { $0 != UInt8(ascii: ":") }
      guard name.count == 6, String(decoding: name, as: UTF8.self).lowercased() == "origin" else { continue }
      let value = line.dropFirst(7).drop { $0 == UInt8(ascii: " ") }.prefix { $0 > 0x20 && $0 < 0x7F }
      return String(decoding: value, as: UTF8.self)
    }
    return nil
  }
}
