import LockstepHTTP

extension Connection {
  /// What a look for more input gave.
  enum Arrival {
    case bytes
    /// There is nothing now.
    case dry
    /// The client sends no more, or is gone.
    case end
  }

  /// Hands on what has come, without waiting. It lies in the loop's own buffer: `body` must not
  /// keep it.
  private func receive(_ body: (UnsafeRawBufferPointer) -> Void) -> Arrival {
    if machine.client == .gone { return .end }
    guard canRead else { return .dry }
    switch loop.read(socket, body) {
    case .bytes(let count):
      // Less than there was room for means that nothing is left; an end behind it must still be
      // read.
      if count < loop.scratchSize && machine.client == .open { canRead = false }
      return .bytes
    case .wouldBlock:
      canRead = false
      return .dry
    case .end: return .end
    case .broken:
      _ = machine.cut()
      return .end
    }
  }

  // MARK: Heads

  private enum Parsed {
    case head(RequestHead, isRepetition: Bool)
    case incomplete
    case refused(Problem)
  }

  /// Reads until a head is complete or nothing more has come.
  func readHead() -> Action {
    var parsed = input.isEmpty ? Parsed.incomplete : parse()
    while true {
      switch parsed {
      case .head(let head, let isRepetition):
        if !isRepetition { self.head = head }
        let exchange = ResponseSerializer.Exchange(
          isHead: head.method == .head,
          isVersion11: head.isVersion11,
          keepsAlive: head.keepsAlive
        )
        return machine.headArrived(exchange, isRepetition: isRepetition)
      case .refused(let problem): return refuse(problem)
      case .incomplete: break
      }
      switch receive({ parsed = self.parse(arrived: $0) }) {
      case .bytes: break
      case .dry: return machine.inputDry(hasBegunHead: hasBegunHead, received: 0, now: loop.now)
      case .end: return machine.inputEnded()
      }
    }
  }

  /// Looks for a head in what is kept.
  private func parse() -> Parsed {
    let (parsed, used) = input.withBytes { parse($0) }
    input.removeFirst(used)
    return parsed
  }

  /// Looks for a head in what has just come. Most often that is one whole request, which is never
  /// copied to the input.
  private func parse(arrived bytes: UnsafeRawBufferPointer) -> Parsed {
    guard input.isEmpty else {
      input.append(bytes)
      return parse()
    }
    let (parsed, used) = parse(bytes)
    if used < bytes.count { input.append(UnsafeRawBufferPointer(rebasing: bytes[used...])) }
    return parsed
  }

  private func parse(_ bytes: UnsafeRawBufferPointer) -> (Parsed, used: Int) {
    if let head, parser.isAtStart, head.isPrefix(of: bytes), head.body == .none {
      return (.head(head, isRepetition: true), head.size)
    }
    do throws(Problem) {
      switch try parser.parse(bytes) {
      case .head(let head, let size): return (.head(head, isRepetition: false), size)
      // Empty lines before a head are used up as they come: they are no beginning of one.
      case .incomplete: return (.incomplete, parser.takeEmptyLines())
      }
    } catch {
      return (.refused(error), 0)
    }
  }

  /// Whether a head has begun to come. Empty lines before it are none of it (RFC 9112, 2.2), and
  /// half of one isn't either.
  var hasBegunHead: Bool {
    switch input.count {
    case 0: false
    case 1: input.withBytes { $0[0] != UInt8(ascii: "\r") }
    default: true
    }
  }

  // MARK: Bodies

  /// Takes what has come of the body out of the input. Returns whether that was the rest.
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
      progress.isBroken = true
      throw error
    }
    guard progress.announced <= bound else {
      progress.isBroken = true
      throw .bodyTooLarge(bound)
    }
    return progress.isDone
  }

  /// Hands on what has come of the body, without waiting.
  private func receiveBody() -> Arrival {
    receive {
      input.append($0)
      machine.bodyArrived(now: loop.now)
    }
  }

  /// Throws away what has already come of a body that no handler read: if its coding is broken, the
  /// response can still say that the connection ends.
  func discardArrivedBody() {
    guard let body, !body.isDone, !body.isBroken, body.knownRemainder <= loop.limits.discardedBody else { return }
    _ = try? takeArrivedBody(upTo: body.received + loop.limits.discardedBody) { _ in }
  }

  /// Throws away what a handler left of the body.
  func discardBody(upTo bound: Int) -> Action {
    do throws(Problem) {
      while try !takeArrivedBody(upTo: bound, { _ in }) {
        switch receiveBody() {
        case .bytes: break
        case .dry: return machine.inputDry(hasBegunHead: false, received: body?.received ?? 0, now: loop.now)
        case .end: return machine.inputEnded()
        }
      }
      return machine.bodyDiscarded()
    } catch {
      return machine.inputEnded()
    }
  }

  /// Throws away what a closing client still sends.
  func discardInput() -> Action {
    var count = 0
    switch receive({ count = $0.count }) {
    case .bytes: return machine.inputDiscarded(count)
    case .dry: return machine.inputDry(hasBegunHead: false, received: 0, now: loop.now)
    case .end: return machine.inputEnded()
    }
  }
}

extension Connection {
  /// The whole body for a handler, at the pace the limits ask for.
  func collectBody(upTo limit: Int) async throws(Problem) -> [UInt8] {
    guard let progress = body, !progress.isDone else { return [] }
    let limit = min(limit, loop.limits.body)
    guard progress.knownRemainder <= limit else { throw .bodyTooLarge(limit) }
    // A client that has begun to send needs no 100, and may be about to get another response.
    if progress.awaitsContinue, input.isEmpty, receiveBody() == .dry, !machine.isTimedOut { sendContinue() }
    var bytes: [UInt8] = []
    // Not all that was announced: a client that announces a lot and sends nothing would get memory
    // for words.
    bytes.reserveCapacity(min(progress.knownRemainder, 16 * 1024))
    machine.awaitBody(received: progress.received, now: loop.now)
    defer { machine.clearDeadline() }
    while true {
      let before = bytes.count
      let isDone = try takeArrivedBody(upTo: limit) { bytes.append(contentsOf: $0) }
      body?.isBroken = !isDone
      guard holdBody(bytes.count - before) else { throw .noMemoryForBody }
      if isDone { return bytes }
      switch await awaitInput() {
      case .bytes: break
      case .end: throw .incompleteBody
      case .dry:
        guard !machine.keepsBodyPace(received: body?.received ?? 0, now: loop.now) else { break }
        loop.counters.timedOut.addAsOnlyWriter(1)
        throw Problem(.requestTimeout)
      }
    }
  }

  /// Waits for more input; `dry` once the deadline has passed. What is to be sent is sent before:
  /// the client may wait for it.
  private func awaitInput() async -> Arrival {
    guard await flushAll() else { return .end }
    while true {
      let arrival = receiveBody()
      guard arrival == .dry, !machine.isTimedOut else { return arrival }
      await wait(for: .input)
    }
  }

  /// Counts so much of a body as held in memory. Returns whether there is room for it.
  func holdBody(_ count: Int) -> Bool {
    guard loop.holdBody(count) else { return false }
    heldBody += count
    return true
  }

  /// What was held of the request's body is held no more. However a request ends, this comes after
  /// it; what was given back isn't given back again.
  func giveBackBody() {
    guard heldBody > 0 else { return }
    loop.giveBackBody(heldBody)
    heldBody = 0
  }
}

extension Problem {
  /// The server has no room for this now.
  static func noRoom(_ detail: String) -> Problem {
    var fields = HeaderFields()
    fields.append(.retryAfter, "1")
    return Problem(.overloaded, detail: "\(detail) Try again soon.", fields: fields)
  }

  fileprivate static var noMemoryForBody: Problem {
    noRoom("The requests that are being answered hold as much memory as this server has for bodies.")
  }

  fileprivate static var incompleteBody: Problem {
    Problem(.malformedRequest, detail: "The connection ended before the body did.")
  }
}
