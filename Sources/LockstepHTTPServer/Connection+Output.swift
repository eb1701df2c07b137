import LockstepHTTP

extension Connection {
  /// Adds to the output. It is sent before the connection waits, or earlier if there is much of it.
  func gather(_ write: (inout [UInt8]) -> Void) {
    if !output.hasBuffer { output.borrow(loop.takeBuffer()) }
    output.gather(write)
  }

  /// Sends as much as the client takes. If there is no memory for the rest, cuts the connection.
  func flush() {
    guard !output.isEmpty else { return }
    if machine.client != .gone {
      let before = output.count
      switch output.send(to: socket) {
      case .bytes: loop.recycle(output.takeBuffer())
      case .wouldBlock, .end: break
      case .broken: _ = machine.cut()
      }
      loop.counters.add(before - output.count, to: .sent)
    }
    if machine.client != .gone {
      if !output.isEmpty { nameOutputOwner() }
      if settleOutput(output.memory) != nil {
        loop.counters.add(1, to: .slowReaders)
        _ = machine.cut()
      }
    }
    if machine.client == .gone { discardOutput() }
  }

  func discardOutput() {
    output = OutputBuffer()
    settleOutput(0)
  }

  /// Counts `output` bytes and `heldByStream` as the connection's output in memory. If there is no
  /// room, returns the reason and changes nothing.
  @discardableResult
  func settleOutput(_ output: Int) -> SharedMemory.Refusal? {
    let count = output + heldByStream
    guard count != heldOutput else { return nil }
    defer { if heldOutput == 0 { outputOwner = nil } }
    if count < heldOutput {
      loop.outputMemory.release(heldOutput - count, of: outputOwner)
    } else {
      let more = count - heldOutput
      if heldByStream > 0 || loop.outputMemory.dependsOnOwner(more) { nameOutputOwner() }
      if let refusal = loop.holdOutput(more, beside: heldOutput, of: outputOwner) { return refusal }
    }
    heldOutput = count
    return nil
  }

  /// Finds the owner of the output that stays in memory. Most output does not, because the kernel
  /// takes it at once.
  private func nameOutputOwner() {
    guard outputOwner == nil, let head, let owner = loop.outputOwner(head, peer) else { return }
    outputOwner = owner
    loop.outputMemory.assign(heldOutput, to: owner)
  }

  /// Sends as much as the client takes, and reports to `machine` whether that was all.
  func flushed() -> Action {
    flush()
    guard output.isEmpty else { return blocked() }
    return machine.drained(hasUnreadInput: !input.isEmpty, sourceDeadline: source?.deadline ?? .max, now: loop.now)
  }

  private func blocked() -> Action {
    machine.blocked(pending: output.count + socket.unacknowledged, now: loop.now)
  }

  /// For a handler's task: waits until all output is sent or the client is gone. Returns false if
  /// the client is gone.
  func flushAll() async -> Bool {
    flush()
    guard !output.isEmpty else { return machine.client != .gone }
    let previousDeadline = machine.deadline
    while !output.isEmpty {
      perform(blocked())
      guard !output.isEmpty else { break }
      await wait(for: .output)
    }
    machine.handlerDrained(restoring: previousDeadline)
    return machine.client != .gone
  }

  /// Adds a whole response, or the head of a streamed one.
  func add(_ response: Response, for exchange: ResponseSerializer.Exchange) {
    gather { ResponseSerializer.appendHead(of: response, for: exchange, dateField: loop.dateField, to: &$0) }
    guard !exchange.isHead, !response.status.forbidsBody else { return }
    switch response.body {
    case .none, .stream: break
    case .bytes(let bytes): output.add(body: bytes)
    case .pieces(let pieces): output.add(pieces: pieces)
    }
  }

  func sendContinue() {
    body?.awaitsContinue = false
    gather { $0.append(contentsOf: "HTTP/1.1 100 Continue\r\n\r\n".utf8) }
    flush()
  }

  func gather(piece: [UInt8]) {
    gather { if machine.exchange.isVersion11 { $0.append(chunk: piece) } else { $0.append(contentsOf: piece) } }
  }

  func gatherEnd() {
    if machine.exchange.isVersion11 { gather { $0.appendLastChunk() } }
  }
}
