import CLockstepLinux
import Glibc
import LockstepHTTP

/// One client's connection: its socket, what came and what is to go, and how far the present exchange is.
///
/// The loop tells it what happened to the socket (`handle`) and to its deadline (`checkDeadline`), and it goes on as far
/// as it can without waiting (`advance`). Only a handler that has to wait for something gets a task; it ends with its
/// answer. So a connection that waits, for a request or for its client to read, is this object and nothing else.
///
/// `@unchecked Sendable`: touched only by its loop's thread. A handler's task is isolated to the loop, and so are the two
/// doors a handler has, `ConnectionBody` and `ConnectionWriter`.
final class Connection: @unchecked Sendable {
  /// What it's at.
  enum Stage {
    /// It's between two requests, or in the middle of a head.
    case awaitingHead
    /// A handler's task is at work: it alone decides how it goes on.
    case handling
    /// The request waits for something to tell.
    case holding(Hold)
    /// The body of the answer comes piece by piece.
    case streaming(Stream)
    /// What is written must be taken by the client first.
    case sending(then: Continuation)
    /// The rest of a body that nobody wanted is read and forgotten.
    case discarding(bound: Int)
    /// All is said; what the client may still be sending is read and forgotten.
    case lingering(discarded: Int)
    /// There is nothing left to do.
    case over
  }

  /// A request that waits, with its head.
  struct Hold {
    let request: any ParkedRequest
    let head: RequestHead
  }

  /// A body that comes piece by piece.
  struct Stream {
    let source: any EventSource
    let isChunked: Bool
    let next: Continuation
  }

  /// A response that its client may get again: see `ResponseValidity`.
  struct Lasting {
    let response: Response
    let premise: any ResponseValidity

    /// The response as it's given now.
    var present: Response {
      let fields = premise.fields
      if fields.isEmpty { return response }
      var response = response
      response.fields.append(contentsOf: fields)
      return response
    }

    /// Up to which size a body is kept for that: a longer one takes so long to send that looking at a request anew isn't
    /// what it costs, and thousands of connections may keep one each.
    static let longestBody = 4096
  }

  /// What follows an answer.
  enum Continuation {
    case nextRequest
    case end
  }

  /// What a handler's task waits for.
  enum Wait {
    case nothing
    case input
    case output
  }

  /// What the deadline stands for between two requests.
  enum HeadTiming {
    case none
    case idle
    case head
  }

  let socket: Socket
  let token: UInt64
  let loop: EventLoop
  let isRefused: Bool
  let peer: PeerAddress

  var stage = Stage.awaitingHead
  var parser: RequestParser
  var input = InputBuffer()
  var output = OutputBuffer()
  var body: BodyProgress?
  /// The last request, where it had no body and may come again.
  var lastHead: RequestHead?
  /// Its answer, where that may be given again.
  var lasting: Lasting?

  /// Whether a read could give something: events are told once, so this is kept until a read says otherwise.
  var canRead = false
  /// Whether a write could take something.
  var canWrite = true
  /// The client sends no more. It may still read: a half-closed connection gets its answer.
  private(set) var isFinished = false
  /// There is no one to read an answer any more.
  var isBroken = false
  /// The deadline passed. Whoever set it reads this and says what it means.
  var isTimedOut = false
  var headTiming = HeadTiming.none
  /// When the time for the head, or for being idle, is over, whatever else there is to wait for until then.
  var headDeadline = Int64.max
  /// How much of the present request's body counts as held in memory.
  var heldBody = 0
  /// Somebody has called for the request that waits.
  var isWoken = false
  /// The present request's client was told to go on with the body.
  var hasSentContinue = false
  /// The present request's body could not be read to its end; where the next request begins is unknown.
  var isBodyBroken = false
  /// The client may not have sent all it wants to when the connection ends.
  var mayBeSendingStill = false
  /// How much the client had still to take when the deadline for it was set.
  var untaken = 0

  /// The task of the handler that is at work.
  var task: Task<Void, Never>?
  private var waiter: UnsafeContinuation<Void, Never>?
  private var wait = Wait.nothing
  private(set) var deadline = Int64.max
  private var comesUpAt = Int64.max

  /// How many requests are answered in one go before other connections get their turn.
  private static let requestsInOneGo = 64

  init(socket: Socket, token: UInt64, peer: PeerAddress, loop: EventLoop, isRefused: Bool) {
    self.socket = socket
    self.token = token
    self.peer = peer
    self.loop = loop
    self.isRefused = isRefused
    parser = RequestParser(limits: loop.limits)
  }

  /// Begins to serve.
  func start() {
    advance()
  }

  /// Goes on as far as it can without waiting.
  func advance() {
    var requests = 0
    while true {
      switch stage {
      case .awaitingHead:
        guard requests < Self.requestsInOneGo else {
          flush()
          return loop.advanceLater(self)
        }
        requests += 1
        guard takeRequest() else { return }
      case .handling: return
      case .holding(let hold): guard endHolding(hold) else { return }
      case .streaming(let stream): guard goOnStreaming(stream) else { return }
      case .sending(let next): guard sendRest(then: next) else { return }
      case .discarding(let bound): guard discardBody(upTo: bound) else { return }
      case .lingering(let discarded): guard linger(discarded) else { return }
      case .over: return loop.release(self)
      }
    }
  }

  var isHandling: Bool {
    if case .handling = stage { true } else { false }
  }

  // MARK: What the loop tells

  func handle(_ event: EventPoll.Event) {
    if event.isReadable { canRead = true }
    if event.isWritable { canWrite = true }
    if event.isBroken { isBroken = true }
    if event.isFinished || event.isBroken { isFinished = true }
    guard isHandling else { return advance() }
    if isFinished { task?.cancel() }
    if canWrite, !output.isEmpty { flush() }
    resumeIfPossible()
  }

  func checkDeadline() {
    // A deadline that was moved to an earlier time leaves its old entry behind; that one is nobody's.
    guard comesUpAt <= loop.now else { return }
    comesUpAt = .max
    guard deadline <= loop.now else { return setDeadline(deadline) }
    deadline = .max
    isTimedOut = true
    if isHandling { resumeIfPossible() } else { advance() }
  }

  /// The server stops: who waits for a request goes, who waits for something to happen answers now.
  func drain() {
    // What has arrived and wasn't told yet is a request on its way too: the socket is looked at once more.
    canRead = true
    if isHandling { task?.cancel() } else { advance() }
  }

  /// Time is up: nothing more is read or written.
  func cut() {
    isBroken = true
    guard isHandling else { return advance() }
    task?.cancel()
    resumeIfPossible()
  }

  /// Whether nobody would miss this connection: the server stops, and it's between two requests.
  var isToStop: Bool { loop.isDraining && !hasBegunHead && body == nil }

  // MARK: Waiting

  /// Sets the time after which `isTimedOut` is true. Nearly always it's later than the one before, and costs a
  /// comparison.
  func setDeadline(_ time: Int64) {
    deadline = time
    guard time < comesUpAt else { return }
    comesUpAt = loop.schedule(token, at: time)
  }

  func clearDeadline() {
    deadline = .max
    isTimedOut = false
  }

  /// Suspends the handler's task until there may be what it waits for, or its deadline is over, or the connection is.
  func wait(for wait: Wait) async {
    await withUnsafeContinuation { continuation in
      self.wait = wait
      waiter = continuation
      // Whoever calls has looked already. But a task that comes from elsewhere may have queued for the loop since, and
      // what it waits for has come and gone unnoticed.
      resumeIfPossible()
    }
  }

  private func resumeIfPossible() {
    switch wait {
    case .nothing: return
    case .input: if canRead || isBroken || isTimedOut || isToStop { resume() }
    case .output: if output.isEmpty || isBroken || isTimedOut { resume() }
    }
  }

  private func resume() {
    wait = .nothing
    guard let waiter else { return }
    self.waiter = nil
    waiter.resume()
  }
}
