import LockstepHTTP

/// What waits without a task: a request until there is something to tell, a body until there is more of it.
extension Connection {
  func hold(_ hold: Hold) {
    // Answers to earlier requests must not wait for this one.
    flush()
    stage = .holding(hold)
    isWoken = false
    setDeadline(hold.request.deadline)
    hold.request.hold(ConnectionWaker(of: self))
  }

  /// Somebody has something to tell the request that waits here. One that was for an earlier request of this connection
  /// does no harm: nothing new is found then.
  func wake() {
    switch stage {
    case .holding, .streaming:
      isWoken = true
      advance()
    default: break
    }
  }

  /// Why who waits here is to be asked; nil while there is no cause.
  private var wakeCause: WakeCause? {
    if isFinished || loop.isDraining { return .leaving }
    if isTimedOut { return .timeOver }
    return isWoken ? .woken : nil
  }

  /// Asks a request that waits for its answer, if there is a cause. Gives whether there was.
  func endHolding(_ hold: Hold) -> Bool {
    if !output.isEmpty { flush() }
    if isBroken {
      hold.request.release()
      stage = .over
      return true
    }
    guard let cause = wakeCause else { return false }
    hold.request.release()
    clearDeadline()
    take(hold.request.answer(cause), to: hold.head)
    return true
  }

  // MARK: Bodies that come piece by piece

  func beginStreaming(_ response: Response, _ source: any EventSource, to head: RequestHead) {
    passOverArrivedBody()
    var response = response
    // Only to say how the body ends; nobody writes through it.
    response.body = .stream { _ in }
    let exchange = ResponseSerializer.Exchange(
      isHead: head.method == .head,
      isVersion11: head.isVersion11,
      keepsAlive: canKeepAlive(head, response)
    )
    let next = exchange.keepsAlive ? Continuation.nextRequest : .end
    add(response, for: exchange)
    guard !exchange.isHead else { return proceed(next) }
    stage = .streaming(Stream(source: source, isChunked: head.isVersion11, next: next))
    isWoken = true
    source.hold(ConnectionWaker(of: self))
  }

  /// Sends what there is to tell. Gives whether there is something to go on with.
  func goOnStreaming(_ stream: Stream) -> Bool {
    flush()
    while true {
      if isBroken {
        stream.source.release()
        stage = .over
        return true
      }
      guard output.isEmpty else { return waitForReader(stream) }
      untaken = 0
      guard let cause = wakeCause else {
        setDeadline(stream.source.deadline)
        return false
      }
      isWoken = false
      clearDeadline()
      switch stream.source.next(cause) {
      case .bytes(let bytes):
        gather { if stream.isChunked { $0.append(chunk: bytes) } else { $0.append(contentsOf: bytes) } }
        // There may be more: many wakings while the client didn't read were one.
        isWoken = true
      case .nothing: if cause == .leaving { return endStreaming(stream) }
      case .end: return endStreaming(stream)
      }
      flush()
    }
  }

  private func endStreaming(_ stream: Stream) -> Bool {
    stream.source.release()
    if stream.isChunked { gather { $0.appendLastChunk() } }
    proceed(stream.next)
    return true
  }

  /// The client hasn't taken what was sent. It's cut when it takes nothing for too long; it can go on from where it was.
  private func waitForReader(_ stream: Stream) -> Bool {
    if untaken == 0 || (isTimedOut && hasClientTakenSome()) { timeOutput() }
    guard isTimedOut else { return false }
    giveUpSending()
    stream.source.release()
    stage = .over
    return true
  }
}
