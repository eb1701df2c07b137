import HTTP

extension Connection {
  /// The life of a connection: one request after the other, then the end.
  ///
  /// An idle connection keeps the frames of the async functions it's in, and the task never gives back what its deepest
  /// moment took. So the async functions here and in the application only decide and await; the work is in synchronous
  /// ones, whose frames are on the thread's stack.
  func serve() async {
    guard !isRefused else { return await turnAway() }
    while let head = await nextHead() {
      guard await exchange(head) else { break }
    }
    await finish()
  }

  /// Answers one request. Gives whether another one can follow.
  private func exchange(_ head: RequestHead) async -> Bool {
    let next = conclude(head, await loop.respond(begin(head)))
    if case .stream(let write, let isChunked, _) = next {
      guard await stream(write, isChunked: isChunked) else { return false }
    }
    if output.hasLongBody || output.count >= Self.flushSize {
      guard await flushed() else { return false }
    }
    guard next.keepsAlive else { return false }
    guard body != nil else { return true }
    guard await discardBody() else { return false }
    body = nil
    return true
  }

  /// What is to be done once an answer's head is written.
  private enum Next {
    case whole(keepsAlive: Bool)
    case stream(@Sendable (any BodyWriter) async throws -> Void, isChunked: Bool, keepsAlive: Bool)

    var keepsAlive: Bool {
      switch self {
      case .whole(let keepsAlive), .stream(_, _, let keepsAlive): keepsAlive
      }
    }
  }

  @inline(never)
  private func begin(_ head: RequestHead) -> Request {
    loop.counters.requests.addAsOnlyWriter(1)
    // An answer that waits to be sent must not wait for this handler.
    if !output.isEmpty { loop.noteUnflushed(self) }
    beginHandling()
    return Request(head: head, body: beginBody(head), peer: peer, arrival: loop.now, loop: loop.index)
  }

  @inline(never)
  private func conclude(_ head: RequestHead, _ response: Response) -> Next {
    isHandling = false
    let exchange = ResponseSerializer.Exchange(
      isHead: head.method == .head,
      isVersion11: head.isVersion11,
      keepsAlive: canKeepAlive(head, response)
    )
    add(response, for: exchange)
    if case .stream(let write) = response.body, !exchange.isHead, !response.status.forbidsBody {
      return .stream(write, isChunked: head.isVersion11, keepsAlive: exchange.keepsAlive)
    }
    return .whole(keepsAlive: exchange.keepsAlive)
  }

  /// From this size on what was gathered is sent before the next request is looked at.
  private static var flushSize: Int { 32 * 1024 }

  private func beginBody(_ head: RequestHead) -> RequestBody {
    guard head.body != .none else { return .bytes([]) }
    hasSentContinue = false
    isBodyBroken = false
    body = BodyProgress(head, limits: loop.limits)
    return .source(ConnectionBody(of: self, expectsContinue: head.expectsContinue))
  }

  private func canKeepAlive(_ head: RequestHead, _ response: Response) -> Bool {
    guard head.keepsAlive, !loop.isDraining else { return false }
    if case .stream = response.body, !head.isVersion11 { return false }
    guard let body, !body.isDone else { return true }
    // Who was not told to go on may never send the body, and what comes next could be either.
    let isComing = !head.expectsContinue || hasSentContinue
    return isComing && !isBodyBroken && body.knownRemainder <= loop.limits.discardedBody
  }

  private func stream(_ write: (any BodyWriter) async throws -> Void, isChunked: Bool) async -> Bool {
    beginHandling()
    defer { isHandling = false }
    do {
      try await write(ConnectionWriter(to: self, isChunked: isChunked))
      if isChunked { gather { $0.appendLastChunk() } }
      return true
    } catch {
      // The body isn't whole: without its last chunk, and with the connection cut, the client can see that.
      isCutShort = true
      return false
    }
  }

  /// Answers what isn't a request; the connection ends after it.
  func refuse(_ problem: Problem) {
    loop.counters.malformed.addAsOnlyWriter(1)
    mayBeSendingStill = true
    let isHead = input.withBytes { $0.starts(with: "HEAD ".utf8) }
    add(problem.response, for: .init(isHead: isHead, isVersion11: true, keepsAlive: false))
  }

  /// Answers a connection that is one too many.
  private func turnAway() async {
    var problem = Problem(.overloaded, detail: "The server has as many connections as it takes. Try again soon.")
    problem.fields.append(.retryAfter, "1")
    mayBeSendingStill = true
    add(problem.response, for: .init(isHead: false, isVersion11: true, keepsAlive: false))
    await finish()
  }

  /// Sends what is left and closes so that the client can still read it: closing with unread input would have the
  /// kernel reset the connection, and the reset may overtake the answer (RFC 9112, 9.6).
  private func finish() async {
    guard !isCutShort, await flushed() else { return }
    guard mayBeSendingStill || !(body?.isDone ?? true) || !input.isEmpty else { return }
    socket.finishWriting()
    input = InputBuffer()
    setDeadline(loop.now + loop.timeouts.linger)
    var discarded = 0
    while discarded <= loop.limits.body, case .bytes = await receive() {
      discarded += input.count
      input = InputBuffer()
    }
  }
}
