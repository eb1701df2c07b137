import Glibc
import LockstepHTTP

/// One forwarded request: its socket, and the parts of the response that have arrived. Only the
/// thread of the client touches it.
final class ForwardingConnection {
  private enum Phase {
    /// The request is not sent yet, or the head of the response is incomplete.
    case head
    case body(ResponseHead, remaining: Int)
    case chunks(ResponseHead, ChunkedDecoder)
    case untilEnd(ResponseHead)
    case stream(ChunkedDecoder?)
  }

  let token: UInt64
  let slot: ExchangeSlot
  private(set) var heldBytes = 0
  private let loop: ForwardingLoop
  private let request: [UInt8]
  private var deadline: Int64
  private let isPresent: @Sendable () -> Bool
  private(set) var nextPresenceCheck: Int64
  /// When this connection first found the other server absent; nil if the server is there.
  private var absentSince: Int64?
  private var addresses: ArraySlice<SocketAddress> = []
  private var socket: Socket?
  private var isConnected = false
  private var isHurried = false
  private var sent = 0
  private var isPaused = false
  private var phase = Phase.head
  private var input = InputBuffer()
  private var body: [UInt8] = []

  init(_ start: ExchangeStart, loop: ForwardingLoop) {
    (token, slot, request, deadline) = (start.token, start.slot, start.request, start.deadline)
    isPresent = start.isPresent
    nextPresenceCheck = loop.now + loop.bounds.presenceInterval
    self.loop = loop
  }

  // MARK: Events

  /// Connects to the first address that accepts. Fails if none does.
  func connect(to addresses: [SocketAddress]) {
    self.addresses = addresses[...]
    connectNext(after: .unreachable)
  }

  private func connectNext(after failure: ForwardedExchange.Failure) {
    socket?.close()
    socket = nil
    var failure = failure
    while let address = addresses.popFirst() {
      switch address.connect() {
      case .failure(let error): failure = error.failure
      case .success(let socket):
        self.socket = socket
        guard loop.watch(socket, token) else { return fail(.full) }
        return
      }
    }
    fail(failure)
  }

  func socketChanged() {
    guard let socket else { return }
    if !isConnected {
      let code = socket.takeError()
      if code != 0 { return connectNext(after: ConnectError(code: code).failure) }
      isConnected = true
    }
    send(to: socket)
    receive()
  }

  func checkDeadline() {
    // A deadline may have moved since it was scheduled.
    if loop.now >= deadline { return fail(.timedOut) }
    guard loop.now >= nextPresenceCheck else { return }
    absentSince = isPresent() ? nil : absentSince ?? loop.now
    if let absentSince, loop.now - absentSince >= loop.bounds.longestAbsence { return fail(.timedOut) }
    nextPresenceCheck = loop.now + loop.bounds.presenceInterval
    loop.schedule(token, at: nextPresenceCheck)
  }

  func perform(_ command: ExchangeCommand) {
    switch command {
    case .withdraw: finish(nil)
    case .resume:
      isPaused = false
      if !deliverStream() { receive() }
    case .hurry:
      isHurried = true
      if deadline > loop.now + loop.bounds.hurry {
        deadline = loop.now + loop.bounds.hurry
        loop.schedule(token, at: deadline)
      }
      if sent == request.count { socket?.finishWriting() }
    }
  }

  /// Ends the exchange without a response.
  func fail(_ failure: ForwardedExchange.Failure) { finish(.failed(failure)) }

  /// Ends the exchange; with nil at the end of a stream, or if the client has left.
  private func finish(_ progress: ForwardedExchange.Progress?) {
    socket?.close()
    socket = nil
    loop.release(self, progress)
  }

  // MARK: Sending and receiving

  private func send(to socket: Socket) {
    while sent < request.count {
      let outcome = request.withUnsafeBytes { socket.write($0.slice(sent..<$0.count)) }
      // If the connection is broken, the response may have arrived nevertheless.
      guard case .bytes(let count) = outcome else { return }
      sent += count
      if sent == request.count, isHurried { socket.finishWriting() }
    }
  }

  private func receive() {
    while !isPaused, let socket {
      switch loop.read(socket, { input.append($0) }) {
      case .bytes:
        if case .stream = phase { deadline = loop.now + loop.bounds.silence }
        do { try process() } catch { return fail(error) }
      case .wouldBlock: return
      case .end: return inputEnded()
      case .broken: return fail(.broken)
      }
    }
  }

  private func inputEnded() {
    switch phase {
    case .untilEnd(let head): respond(head)
    case .stream(nil): finish(nil)
    case .head, .body, .chunks, .stream: fail(.broken)
    }
  }

  private func process() throws(ForwardedExchange.Failure) {
    if case .head = phase { try processHead() }
    switch phase {
    case .head: break
    case .body(let head, let remaining):
      let count = min(remaining, input.count)
      try take(count)
      phase = .body(head, remaining: remaining - count)
      if remaining == count { respond(head) }
    case .untilEnd: try take(input.count)
    case .chunks(let head, var decoder):
      let decoded = try decode(&decoder)
      try hold(decoded.count)
      body += decoded
      phase = .chunks(head, decoder)
      if decoder.isDone { respond(head) }
    case .stream: deliverStream()
    }
  }

  private func processHead() throws(ForwardedExchange.Failure) {
    let parsed: (ResponseHead, length: Int)?
    do throws(ResponseHead.Malformed) {
      parsed = try input.withBytes { bytes throws(ResponseHead.Malformed) in try ResponseHead.parse(bytes) }
    } catch {
      throw .broken
    }
    guard let (head, length) = parsed else { return }
    input.removeFirst(length)
    if head.isEventStream, head.body != .none {
      if case .length = head.body { throw .broken }
      phase = .stream(head.body == .chunked ? ChunkedDecoder(limits: Limits()) : nil)
      deadline = loop.now + loop.bounds.silence
      loop.schedule(token, at: deadline)
      return slot.settle(.stream(Response(status: head.status, fields: head.fields)))
    }
    switch head.body {
    case .none: respond(head)
    case .length(let length):
      guard length <= loop.bounds.responseBytes else { throw .tooLarge }
      phase = .body(head, remaining: length)
    case .chunked: phase = .chunks(head, ChunkedDecoder(limits: Limits()))
    case .untilEnd: phase = .untilEnd(head)
    }
  }

  /// Moves bytes from the input to the body.
  private func take(_ count: Int) throws(ForwardedExchange.Failure) {
    try hold(count)
    input.withBytes { body += $0.prefix(count) }
    input.removeFirst(count)
  }

  private func hold(_ count: Int) throws(ForwardedExchange.Failure) {
    guard body.count + count <= loop.bounds.responseBytes else { throw .tooLarge }
    guard loop.hold(count) else { throw .full }
    heldBytes += count
  }

  private func decode(_ decoder: inout ChunkedDecoder) throws(ForwardedExchange.Failure) -> [UInt8] {
    var decoded: [UInt8] = []
    do throws(Problem) {
      let used = try input.withBytes { bytes throws(Problem) in
        try decoder.decode(bytes) { decoded += $0 }
      }
      input.removeFirst(used)
    } catch {
      throw .broken
    }
    return decoded
  }

  /// Passes the input on as pieces of the stream. Returns whether the stream has ended.
  @discardableResult
  private func deliverStream() -> Bool {
    guard case .stream(let decoder) = phase, !input.isEmpty else { return false }
    var decoded: [UInt8] = []
    if var decoder {
      do { decoded = try decode(&decoder) } catch {
        fail(error)
        return true
      }
      phase = .stream(decoder)
      if !decoded.isEmpty { isPaused = slot.append(decoded) }
      guard decoder.isDone else { return false }
      finish(nil)
      return true
    }
    input.withBytes { decoded += $0 }
    input.removeFirst(input.count)
    isPaused = slot.append(decoded)
    return false
  }

  private func respond(_ head: ResponseHead) {
    let body: Response.Body = body.isEmpty ? .none : .bytes(body)
    finish(.response(Response(status: head.status, fields: head.fields, body: body)))
  }
}
