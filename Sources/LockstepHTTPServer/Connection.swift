import CLockstepLinux
import Glibc
import LockstepHTTP

/// One client's connection: its socket, its buffers and its handler's task.
///
/// `ConnectionStateMachine` decides what happens; this reports events to it and performs the
/// actions it returns, as far as that goes without waiting (`perform`). Only a handler that has to
/// wait for something gets a task. So a connection that waits, for a request or for its client to
/// read, is this object and nothing else.
///
/// `@unchecked Sendable`: touched only by its loop's thread. A handler's task is isolated to the
/// loop, and so is the door that a handler has, `ConnectionDoor`.
final class Connection: @unchecked Sendable {
  typealias Action = ConnectionStateMachine.Action

  let socket: Socket
  let token: UInt64
  let loop: EventLoop
  let peer: PeerAddress

  var machine: ConnectionStateMachine
  var parser: RequestParser
  var input = InputBuffer()
  var output = OutputBuffer()
  /// The last request's head.
  var head: RequestHead?
  /// The last request's body, if it did not come with its head.
  var body: BodyProgress?
  /// The last response, if it may be sent again.
  var kept: KeptResponse?
  /// The request that waits.
  var parked: (any ParkedRequest)?
  /// Where the streamed body comes from.
  var source: (any EventSource)?
  /// The task of the handler that is running.
  var task: Task<Void, Never>?
  /// Whether a read could give something: epoll reports each change once, so this is kept until a
  /// read says otherwise.
  var canRead = false
  /// How much of the present request's body counts as held in memory.
  var heldBody = 0
  /// How much output counts as held in memory.
  var heldOutput = 0
  private var waiter: UnsafeContinuation<Void, Never>?
  /// When the loop looks at the deadline.
  private var comesUpAt = Int64.max

  /// How many requests are answered in one go before other connections get their turn.
  private static let requestsInOneGo = 64

  init(socket: Socket, token: UInt64, peer: PeerAddress, loop: EventLoop, isSurplus: Bool) {
    self.socket = socket
    self.token = token
    self.peer = peer
    self.loop = loop
    machine = ConnectionStateMachine(bounds: loop.bounds, isSurplus: isSurplus)
    parser = RequestParser(limits: loop.limits)
  }

  // MARK: What the loop reports

  /// Goes on as far as it can without waiting.
  func advance() { perform(machine.next) }

  func handle(_ event: EventPoll.Event) {
    if event.isReadable { canRead = true }
    perform(machine.socketChanged(isFinished: event.isFinished, isGone: event.isBroken))
  }

  func checkDeadline() {
    // A deadline that was moved to an earlier time leaves its old entry in the wheel.
    guard comesUpAt <= loop.now else { return }
    comesUpAt = .max
    if machine.deadline <= loop.now { perform(machine.deadlinePassed()) } else { setAlarm() }
  }

  func wake() { perform(machine.woken()) }

  /// The server stops: idle connections close, and what waits for something to happen is answered.
  func drain() {
    // What has arrived without an event so far is a request on its way too: the socket is looked at
    // once more.
    canRead = true
    perform(machine.drain())
  }

  /// Time is up: nothing more is read or written.
  func cut() { perform(machine.cut()) }

  // MARK: Actions

  func perform(_ first: Action) {
    var action = first
    var heads = 0
    while true {
      switch action {
      case .wait: return setAlarm()
      case .flush: action = flushed()
      case .readHead:
        guard heads < Self.requestsInOneGo else {
          flush()
          return loop.advanceLater(self)
        }
        heads += 1
        action = readHead()
      case .respond(let isRepetition): action = respond(isRepetition: isRepetition)
      case .turnAway(let hasHead): action = turnAway(hasHead ? head : nil)
      case .timeOutHead(let hasBegun):
        loop.counters.timedOut.addAsOnlyWriter(1)
        action = hasBegun ? refuse(Problem(.requestTimeout)) : machine.inputEnded()
      case .discardBody(let bound): action = discardBody(upTo: bound)
      case .finishWriting:
        socket.finishWriting()
        input = InputBuffer()
        action = .discardInput
      case .discardInput: action = discardInput()
      case .askParked(let cause): action = askParked(cause)
      case .askSource(let cause): action = askSource(cause)
      case .endStream: action = endStream()
      case .serveHandler(let cancels):
        if cancels { task?.cancel() }
        flush()
        resumeIfPossible()
        return setAlarm()
      case .giveUp:
        loop.counters.timedOut.addAsOnlyWriter(1)
        loop.counters.slowReaders.addAsOnlyWriter(1)
        output.discard()
        settleOutput(0)
        action = machine.next
      case .close:
        releaseParked()
        return loop.release(self)
      }
    }
  }

  /// Has the loop look at the deadline in time. Nearly always it is later than the one before, and
  /// costs a comparison.
  private func setAlarm() {
    guard machine.deadline < comesUpAt else { return }
    comesUpAt = loop.schedule(token, at: machine.deadline)
  }

  // MARK: Handlers that wait

  /// Suspends the handler's task until there may be what it waits for, or its deadline is over, or
  /// the connection is.
  func wait(for wait: ConnectionStateMachine.HandlerWait) async {
    setAlarm()
    await withUnsafeContinuation { continuation in
      machine.handlerWaits(for: wait)
      waiter = continuation
      // The caller has looked already. But a task that comes from elsewhere may have queued for the
      // loop since, and what it waits for has come in between.
      resumeIfPossible()
    }
  }

  private func resumeIfPossible() {
    guard let waiter, machine.canResumeHandler(hasInput: canRead, isDrained: output.isEmpty) else { return }
    machine.handlerWaits(for: .nothing)
    self.waiter = nil
    waiter.resume()
  }
}
