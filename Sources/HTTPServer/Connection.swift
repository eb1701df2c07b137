import CLinux
import Glibc
import HTTP

/// One client's connection: its socket, what came and what is to go, and the task that serves it.
///
/// The loop tells it what happened to the socket (`handle`) and to its deadline (`checkDeadline`); the task does the
/// work (`serve`) and, when it can't go on, waits here for either. Everything happens on the loop's thread, in turn.
///
/// `@unchecked Sendable`: touched only by its loop's thread. The task is isolated to the loop, and so are the two doors a
/// handler has, `ConnectionBody` and `ConnectionWriter`.
final class Connection: @unchecked Sendable {
  /// What the task waits for.
  enum Wait {
    case nothing
    case input
    case output
  }

  let socket: Socket
  let token: UInt64
  let loop: EventLoop
  let isRefused: Bool
  let peer: PeerAddress

  var parser: RequestParser
  var input = InputBuffer()
  var output = OutputBuffer()
  var body: BodyProgress?

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
  /// A handler is at work.
  var isHandling = false
  /// The present request's client was told to go on with the body.
  var hasSentContinue = false
  /// The present request's body could not be read to its end; where the next request begins is unknown.
  var isBodyBroken = false
  /// The client may not have sent all it wants to when the connection ends.
  var mayBeSendingStill = false
  /// The last answer isn't whole.
  var isCutShort = false

  private var task: Task<Void, Never>?
  private var waiter: UnsafeContinuation<Void, Never>?
  private var wait = Wait.nothing
  private(set) var deadline = Int64.max
  private var comesUpAt = Int64.max

  init(socket: Socket, token: UInt64, peer: PeerAddress, loop: EventLoop, isRefused: Bool) {
    self.socket = socket
    self.token = token
    self.peer = peer
    self.loop = loop
    self.isRefused = isRefused
    parser = RequestParser(limits: loop.limits)
  }

  /// Begins to serve. The task belongs to the connection and ends with it; it's no child of another task because it
  /// must be cancelled alone, when its client goes away.
  func start() {
    let isolation = loop.isolation
    task = Task(executorPreference: loop) { await self.run(on: isolation) }
  }

  private func run(on isolation: isolated LoopIsolation) async {
    await serve()
    task = nil
    loop.release(self)
  }

  // MARK: What the loop tells

  func handle(_ event: EventPoll.Event) {
    if event.isReadable { canRead = true }
    if event.isWritable { canWrite = true }
    if event.isBroken { isBroken = true }
    if event.isFinished || event.isBroken {
      isFinished = true
      if isHandling { task?.cancel() }
    }
    if canWrite, !output.isEmpty { goOnSending() }
    resumeIfPossible()
  }

  private func goOnSending() {
    let before = output.count
    flush()
    if wait == .output, output.count < before { setDeadline(stallDeadline) }
  }

  func checkDeadline() {
    // A deadline that was moved to an earlier time leaves its old entry behind; that one is nobody's.
    guard comesUpAt <= loop.now else { return }
    comesUpAt = .max
    guard deadline <= loop.now else { return setDeadline(deadline) }
    deadline = .max
    isTimedOut = true
    resumeIfPossible()
  }

  /// The server stops: who waits for a request goes, who waits for something to happen answers now.
  func drain() {
    // What has arrived and wasn't told yet is a request on its way too: the socket is looked at once more.
    canRead = true
    if isHandling { task?.cancel() } else { resumeIfPossible() }
  }

  /// Time is up: nothing more is read or written.
  func cut() {
    isBroken = true
    task?.cancel()
    resumeIfPossible()
  }

  /// A handler begins. If the client has already gone, or the server stops, it's told so from the start.
  func beginHandling() {
    isHandling = true
    if isFinished || loop.isDraining { task?.cancel() }
  }

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

  /// Suspends the task until there may be what it waits for, or its deadline is over, or the connection is.
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

  /// Whether the server stops and nobody would miss this connection: it's between two requests.
  var isToStop: Bool { loop.isDraining && input.isEmpty && body == nil }

  private func resume() {
    wait = .nothing
    guard let waiter else { return }
    self.waiter = nil
    waiter.resume()
  }
}
