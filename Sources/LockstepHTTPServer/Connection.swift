import CLockstepLinux
import Glibc
import LockstepHTTP

/// A client's connection: its socket, its buffers and its handler's task.
///
/// `ConnectionStateMachine` decides what happens. The connection reports events to the machine and
/// performs the actions that the machine returns. Only a handler that waits gets a task, so an idle
/// connection needs only this object.
///
/// `@unchecked Sendable`: only the loop's thread uses a connection. Handler tasks and
/// `ConnectionHandle` are isolated to the loop.
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
  /// The head of the last request, unless it is in `recent`.
  var newHead: RequestHead?
  /// The body of the last request, unless it arrived with its head.
  var body: BodyReader?
  /// The last request, if the loop got it before.
  var recent: RecentRequest?
  var parked: (any ParkedRequest)?
  var source: (any EventSource)?
  var task: Task<Void, Never>?
  /// Stays true until a read empties the socket, because epoll reports new input only once.
  var canRead = false
  var heldBody = 0
  /// The owner of `heldBody`; nil until the connection needs it.
  var bodyOwner: String?
  var heldOutput = 0
  /// The owner of `heldOutput`; nil until the connection needs it.
  var outputOwner: String?
  /// How much the closure of a streamed body keeps in memory.
  var heldByStream = 0
  private var waiter: UnsafeContinuation<Void, Never>?
  private var deadlineCheck = Int64.max
  /// Made for the first request that waits.
  private(set) lazy var waker = ConnectionWaker(of: self)

  /// How many requests are handled before other connections get their turn.
  private static let requestsPerTurn = 64

  init(socket: Socket, token: UInt64, peer: PeerAddress, loop: EventLoop, isSurplus: Bool) {
    self.socket = socket
    self.token = token
    self.peer = peer
    self.loop = loop
    machine = ConnectionStateMachine(bounds: loop.bounds, isSurplus: isSurplus)
    parser = RequestParser(limits: loop.limits)
  }

  /// The head of the last request.
  var head: RequestHead? { newHead ?? recent?.head }

  // MARK: Events of the loop

  func advance() { perform(machine.next) }

  func handle(_ event: EventPoll.Event) {
    if event.isReadable { canRead = true }
    perform(machine.socketChanged(isFinished: event.isFinished, isGone: event.isBroken))
  }

  func checkDeadline() {
    // When a deadline moves to an earlier time, its old entry stays in the wheel. Ignore it.
    guard deadlineCheck <= loop.now else { return }
    deadlineCheck = .max
    if machine.deadline <= loop.now { perform(machine.deadlinePassed()) } else { scheduleDeadline() }
  }

  func wake() { perform(machine.woken()) }

  func drain() {
    // A request may have arrived before its event, so the socket is read once more.
    canRead = true
    perform(machine.drain())
  }

  func cut() { perform(machine.cut()) }

  // MARK: Actions

  func perform(_ first: Action) {
    var action = first
    var heads = 0
    while true {
      switch action {
      case .wait: return scheduleDeadline()
      case .flush: action = flushed()
      case .readHead:
        guard heads < Self.requestsPerTurn else {
          flush()
          return loop.advanceLater(self)
        }
        heads += 1
        action = readHead()
      case .respond: action = respond()
      case .turnAway(let hasHead): action = turnAway(hasHead ? head : nil)
      case .timeOutHead(let hasBegun):
        loop.counters.add(1, to: .timedOut)
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
        return scheduleDeadline()
      case .giveUp:
        loop.counters.add(1, to: .timedOut)
        loop.counters.add(1, to: .slowReaders)
        discardOutput()
        action = machine.next
      case .close:
        releaseParked()
        return loop.release(self)
      }
    }
  }

  /// Usually an earlier check is scheduled already, and this costs one comparison.
  private func scheduleDeadline() {
    guard machine.deadline < deadlineCheck else { return }
    deadlineCheck = loop.schedule(token, at: machine.deadline)
  }

  // MARK: Handlers that wait

  /// Suspends the handler's task until `wait` is over, the deadline passes or the client is gone.
  func wait(for wait: ConnectionStateMachine.HandlerWait) async {
    scheduleDeadline()
    await withUnsafeContinuation { continuation in
      machine.handlerWaits(for: wait)
      waiter = continuation
      // The event may have occurred while the task was queued for the loop.
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
