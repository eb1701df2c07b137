import LockstepHTTP

extension Connection {
  enum Arrival {
    case bytes
    /// No bytes at the moment.
    case dry
    /// The client sends no more or is gone.
    case end
  }

  /// Reads without waiting. The bytes that `body` gets are valid only during the call.
  private func receive(_ body: (UnsafeRawBufferPointer) -> Void) -> Arrival {
    if machine.client == .gone { return .end }
    guard canRead else { return .dry }
    switch loop.read(socket, body) {
    case .bytes(let count):
      // A read that does not fill the buffer has emptied the socket. If the client has finished,
      // the end of its input must still be read.
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
    case head(ResponseSerializer.Exchange)
    case incomplete
    case refused(Problem)
  }

  func readHead() -> Action {
    var parsed = input.isEmpty ? Parsed.incomplete : parse(arrived: UnsafeRawBufferPointer(start: nil, count: 0))
    while true {
      switch parsed {
      case .head(let exchange): return machine.headArrived(exchange)
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

  /// Usually the new bytes are one whole request, which is parsed without a copy to `input`.
  private func parse(arrived bytes: UnsafeRawBufferPointer) -> Parsed {
    guard input.isEmpty else {
      input.append(bytes)
      let (parsed, used) = input.withBytes { parse($0) }
      input.removeFirst(used)
      return parsed
    }
    let (parsed, used) = parse(bytes)
    if used < bytes.count { input.append(bytes.slice(used..<bytes.count)) }
    return parsed
  }

  private func parse(_ bytes: UnsafeRawBufferPointer) -> (Parsed, used: Int) {
    var (key, known) = (UInt64(0), RecentRequest?.none)
    do throws(Problem) {
      let outcome = try parser.parse(bytes) { head in
        (key, known) = loop.recentRequests.find(head)
        return known != nil
      }
      switch outcome {
      case .known(let size):
        guard let known else { return (.incomplete, 0) }
        newHead = nil
        recent = known
        return (.head(known.exchange), size)
      case .head(let head, let size):
        newHead = head
        recent = loop.recentRequests.add(head, key)
        return (.head(ResponseSerializer.Exchange(head)), size)
      // Empty lines before a head are removed as they arrive, because they are not part of it.
      case .incomplete: return (.incomplete, parser.takeEmptyLines())
      }
    } catch {
      return (.refused(error), 0)
    }
  }

  /// Whether a head has begun. Empty lines, and half of one, do not count (RFC 9112, 2.2).
  var hasBegunHead: Bool {
    switch input.count {
    case 0: false
    case 1: input.withBytes { $0[0] != UInt8(ascii: "\r") }
    default: true
    }
  }

  // MARK: Bodies

  /// Takes the body out of the input as far as it has arrived. Returns whether it is complete.
  private func takeArrivedBody(upTo bound: Int, _ sink: (UnsafeRawBufferPointer) -> Void) throws(Problem) -> Bool {
    guard var progress = body else { return true }
    defer { body = progress }
    do throws(Problem) {
      try progress.take(from: &input, sink: sink)
    } catch {
      loop.counters.add(1, to: .malformed)
      progress.isBroken = true
      throw error
    }
    guard progress.announced <= bound else {
      progress.isBroken = true
      throw .bodyTooLarge(bound)
    }
    return progress.isDone
  }

  /// Reads more of the body into the input, without waiting.
  private func receiveBody() -> Arrival {
    receive {
      input.append($0)
      machine.bodyArrived(now: loop.now)
    }
  }

  /// Called before the response is written, so that it has `Connection: close` if the coding is
  /// broken.
  func discardArrivedBody() {
    guard let body, !body.isDone, !body.isBroken, body.knownRemainder <= loop.limits.discardedBody else { return }
    _ = try? takeArrivedBody(upTo: body.received + loop.limits.discardedBody) { _ in }
  }

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

  /// Discards the input of a closing connection.
  func discardInput() -> Action {
    var count = 0
    switch receive({ count = $0.count }) {
    case .bytes: return machine.inputDiscarded(count)
    case .dry: return machine.inputDry(hasBegunHead: false, received: 0, now: loop.now)
    case .end: return machine.inputEnded()
    }
  }

  /// Reads the whole body for a handler: see `RequestBody.collect()`.
  func collectBody(upTo limit: Int) async throws(Problem) -> [UInt8] {
    guard let progress = body, !progress.isDone else { return [] }
    let limit = min(limit, loop.limits.body)
    guard progress.knownRemainder <= limit else { throw .bodyTooLarge(limit) }
    // A client that already sends the body does not wait for `100 Continue`.
    if progress.awaitsContinue, input.isEmpty, receiveBody() == .dry, !machine.isTimedOut { sendContinue() }
    var bytes: [UInt8] = []
    // At most 16 KiB, because a client could announce a large body and send nothing.
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
        guard !machine.bodyRatePasses(received: body?.received ?? 0, now: loop.now) else { break }
        loop.counters.add(1, to: .timedOut)
        throw Problem(.requestTimeout)
      }
    }
  }

  /// Waits for more of the body; returns `dry` when the deadline has passed. Sends all output
  /// first, because the client may wait for it.
  private func awaitInput() async -> Arrival {
    guard await flushAll() else { return .end }
    while true {
      let arrival = receiveBody()
      guard arrival == .dry, !machine.isTimedOut else { return arrival }
      await wait(for: .input)
    }
  }

  /// Counts `count` more bytes of the body as in memory. Returns false if there is no room.
  func holdBody(_ count: Int) -> Bool {
    let memory = loop.bodyMemory
    if bodyOwner == nil, memory.dependsOnOwner(count), let head, let owner = loop.outputOwner(head, peer) {
      bodyOwner = owner
      memory.assign(heldBody, to: owner)
    }
    guard loop.holdBody(count, of: bodyOwner) else { return false }
    heldBody += count
    return true
  }

  /// Counts the body as no longer in memory. Called after every request, however it ends.
  func releaseBody() {
    if heldBody > 0 { loop.bodyMemory.release(heldBody, of: bodyOwner) }
    (heldBody, bodyOwner) = (0, nil)
  }
}

extension Problem {
  static func noRoom(_ detail: String) -> Problem {
    var fields = HeaderFields()
    fields.append(.retryAfter, "1")
    return Problem(.overloaded, detail: "\(detail) Try again later.", fields: fields)
  }

  fileprivate static var noMemoryForBody: Problem {
    noRoom("The bodies of running requests use all memory that this server has for them, or your share of it.")
  }

  fileprivate static var incompleteBody: Problem {
    Problem(.malformedRequest, detail: "The connection ended before the body did.")
  }
}
