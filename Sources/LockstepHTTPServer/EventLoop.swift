import CLockstepLinux
import Glibc
import LockstepHTTP
import Synchronization
import LockstepTime

/// One thread that serves its share of the connections: it waits for events and runs the jobs of their tasks.
///
/// It is the executor of every connection's task, so a handler that awaits something elsewhere comes back here, and so do
/// the child tasks it makes.
///
/// `@unchecked Sendable`: all variables below are touched only by the loop's own thread, in `run()` and in the jobs
/// that `run()` runs. Other threads reach it through `mailbox` alone, which has a lock.
final class EventLoop: SerialExecutor, TaskExecutor, WakeableLoop, @unchecked Sendable {
  let index: Int
  let counters = LoopCounters()
  let limits: Limits
  let bounds: ConnectionBounds
  private(set) var respond: Responder = { _ in .now(Problem(.overloaded).response) }
  let refusalFields: RefusalFields
  private var noteRefusal: @Sendable (ServerRefusal) -> Void = { _ in }
  private let refusalsAtOnce: Int
  private let cannotAccept: @Sendable (SystemError) -> Void
  private let giveMemoryBack: @Sendable () -> Void
  private var cannotAcceptWasTold = -Int64.max / 2
  private let time: TimeSource
  private let shared: SharedState
  private let mailbox: Mailbox

  private let poll: EventPoll
  private var listener: ListeningSocket?
  private var wheel: DeadlineWheel<UInt64>
  private var connections = ConnectionTable()
  private var thread: pthread_t?
  private var arrivedJobs: [UnownedJob] = []
  private var runningJobs: [UnownedJob] = []
  private var unfinished: [Connection] = []
  /// Parked connections that are to come back, and haven't yet.
  private var woken: [UInt64] = []
  private var spareBuffers: [[UInt8]] = []
  private let scratch: UnsafeMutableRawBufferPointer
  private var dateSecond = -1
  /// The `Date` field of this second.
  private(set) var dateField: [UInt8] = []
  /// What a task is isolated to while it touches what belongs to this loop.
  private(set) lazy var isolation = LoopIsolation(self)
  /// When this turn of the loop began, in nanoseconds.
  private(set) var now: Int64
  private(set) var isDraining = false
  private var drainDeadline = Int64.max

  private static let listenerToken = EventPoll.bellToken - 1
  private static let memoryToken = listenerToken - 1
  /// From so much output on, the allocator may keep much memory after it is sent.
  private static let muchOutput = 16 * 1024 * 1024
  private static let memoryPause: Int64 = 10_000_000_000
  private static let wakingsATurn = 128
  private static let acceptPause: Int64 = 100_000_000

  init(
    index: Int,
    listener: ListeningSocket,
    configuration: Server.Configuration,
    time: TimeSource,
    shared: SharedState
  ) throws(SystemError) {
    self.index = index
    self.listener = listener
    limits = configuration.limits
    bounds = ConnectionBounds(limits)
    refusalFields = configuration.refusalFields
    refusalsAtOnce = configuration.refusals
    cannotAccept = configuration.cannotAccept
    giveMemoryBack = configuration.returnMemory
    self.time = time
    self.shared = shared
    poll = try EventPoll()
    mailbox = Mailbox(bell: poll.bellDescriptor)
    now = time.monotonic()
    wheel = DeadlineWheel(now: now)
    scratch = .allocate(byteCount: 64 * 1024, alignment: 16)
  }

  deinit {
    listener?.close()
    scratch.deallocate()
  }

  // MARK: Running

  /// Serves until it was told to drain and all connections are closed.
  func run(_ respond: @escaping Responder, noteRefusal: @escaping @Sendable (ServerRefusal) -> Void) {
    thread = pthread_self()
    self.respond = respond
    self.noteRefusal = noteRefusal
    if let listener, !poll.watch(listener, token: Self.listenerToken) { stopListening() }
    while !(isDraining && (connections.isEmpty || now >= drainDeadline)) {
      turn()
    }
    mailbox.close()
    cutConnections()
  }

  /// Ends what is still there when the time for draining is over. A handler that doesn't heed its cancellation is left
  /// where it is; its socket is closed all the same.
  private func cutConnections() {
    connections.forEach { $0.cut() }
    for _ in 0..<16 where !arrivedJobs.isEmpty { runJobs() }
    connections.forEach { release($0) }
  }

  private func turn() {
    let hasWork = !arrivedJobs.isEmpty || !unfinished.isEmpty || !woken.isEmpty
    let events = poll.wait(nanoseconds: hasWork ? 0 : timeToWait())
    lookAtClock()
    for index in 0..<events { handle(poll.event(index)) }
    wakeSome()
    advanceUnfinished()
    for token in wheel.advance(to: now) { comeUp(token) }
    runJobs()
  }

  private func timeToWait() -> Int64? {
    let next = wheel.timeUntilNext(from: now)
    guard isDraining else { return next }
    return min(next ?? .max, max(0, drainDeadline - now))
  }

  private func handle(_ event: EventPoll.Event) {
    switch event.token {
    case EventPoll.bellToken: collectMail()
    case Self.listenerToken: acceptConnections()
    default: connections[event.token]?.handle(event)
    }
  }

  private func comeUp(_ token: UInt64) {
    switch token {
    case Self.listenerToken: if let listener { poll.setPaused(false, listener, token: token) }
    case Self.memoryToken: returnMemory()
    default: connections[token]?.checkDeadline()
    }
  }

  // MARK: Jobs

  /// Takes a job of a task that prefers this loop. May be called from any thread.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isOnLoop { arrivedJobs.append(job) } else { mailbox.post(job) }
  }

  // `thread` is set once, before the first job exists, and only compared here.
  private var isOnLoop: Bool { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

  /// Runs the jobs that are there, not those they bring: events get their turn in between.
  private func runJobs() {
    swap(&arrivedJobs, &runningJobs)
    let (serial, task) = (asUnownedSerialExecutor(), asUnownedTaskExecutor())
    for job in runningJobs {
      job.runSynchronously(isolatedTo: serial, taskExecutor: task)
    }
    runningJobs.removeAll(keepingCapacity: true)
  }

  private func collectMail() {
    poll.hearBell()
    let mail = mailbox.collect()
    arrivedJobs.append(contentsOf: mail.jobs)
    for order in mail.orders {
      switch order {
      case .drain: beginDraining()
      case .lookAtClock: break
      }
    }
    woken.append(contentsOf: mail.woken)
  }

  // MARK: Accepting

  /// Accepts who waits. Gives whether there may be more.
  @discardableResult
  private func acceptConnections() -> Bool {
    guard let listener else { return false }
    // Bounded, so that a flood of new connections doesn't starve those that are there.
    for _ in 0..<64 {
      var address = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let descriptor = lockstep_accept(listener.descriptor, &address, &length)
      guard descriptor >= 0 else {
        if errno == ECONNABORTED || errno == EINTR { continue }
        if errno != EAGAIN { pauseAccepting(SystemError("accept", purpose: "accept a connection")) }
        return false
      }
      admit(Socket(descriptor: descriptor), address, length)
    }
    return true
  }

  /// The system is short of descriptors or memory. The connection stays in the backlog; asking again at once would spin.
  private func pauseAccepting(_ error: SystemError) {
    guard let listener else { return }
    counters.acceptPauses.addAsOnlyWriter(1)
    if now - 60_000_000_000 >= cannotAcceptWasTold {
      cannotAcceptWasTold = now
      cannotAccept(error)
    }
    poll.setPaused(true, listener, token: Self.listenerToken)
    wheel.schedule(Self.listenerToken, at: now + Self.acceptPause)
  }

  private func admit(_ socket: Socket, _ address: sockaddr_storage, _ length: socklen_t) {
    counters.accepted.addAsOnlyWriter(1)
    let isSurplus = shared.served.add(1, ordering: .relaxed).newValue > limits.connections
    if isSurplus {
      counters.refused.addAsOnlyWriter(1)
      shared.served.subtract(1, ordering: .relaxed)
      // Answering the refused takes descriptors too, so their number is bounded: past it they're only closed.
      guard shared.refused.add(1, ordering: .relaxed).newValue <= refusalsAtOnce else {
        shared.refused.subtract(1, ordering: .relaxed)
        return socket.close()
      }
    }
    socket.disableDelay()
    let token = connections.nextToken(for: socket.descriptor)
    let connection = Connection(
      socket: socket,
      token: token,
      peer: PeerAddress(address, length: length),
      loop: self,
      isSurplus: isSurplus
    )
    connections[token] = connection
    counters.open.addAsOnlyWriter(1)
    guard poll.watch(socket, token: token) else { return release(connection) }
    connection.advance()
  }

  /// Closes a connection that is over.
  func release(_ connection: Connection) {
    guard connections[connection.token] === connection else { return }
    connection.giveBackBody()
    connection.settleOutput(0)
    connections[connection.token] = nil
    connection.socket.close()
    counters.open.addAsOnlyWriter(-1)
    if connection.machine.isSurplus {
      shared.refused.subtract(1, ordering: .relaxed)
    } else {
      shared.served.subtract(1, ordering: .relaxed)
    }
  }

  /// What the engine answers by itself is told here.
  func note(_ kind: ProblemKind, to peer: PeerAddress) {
    noteRefusal(ServerRefusal(peer: peer, kind: kind, loop: index))
  }

  // MARK: Memory for bodies and output

  /// Counts bytes of a body as held. Gives whether there is room for them; if not, they aren't counted.
  func holdBody(_ count: Int) -> Bool {
    guard shared.bodyBytes.add(count, ordering: .relaxed).newValue > limits.bodyMemory else { return true }
    giveBackBody(count)
    return false
  }

  func giveBackBody(_ count: Int) { shared.bodyBytes.subtract(count, ordering: .relaxed) }

  /// Counts more bytes of output as waiting for their client. Returns whether there is room for
  /// them; if not, they aren't counted. There always is if no other connection has output that
  /// waits.
  func holdOutput(_ count: Int, beside own: Int) -> Bool {
    let total = shared.outputBytes.add(count, ordering: .relaxed).newValue
    guard total > limits.outputMemory, total > own + count else {
      if total >= Self.muchOutput, !shared.hasHeldMuch.exchange(true, ordering: .relaxed) {
        wheel.schedule(Self.memoryToken, at: now + Self.memoryPause)
      }
      return true
    }
    giveBackOutput(count)
    return false
  }

  /// Returns memory to the system if the output that was held is sent; otherwise looks again later.
  private func returnMemory() {
    guard shared.outputBytes.load(ordering: .relaxed) < Self.muchOutput else {
      wheel.schedule(Self.memoryToken, at: now + Self.memoryPause)
      return
    }
    shared.hasHeldMuch.store(false, ordering: .relaxed)
    giveMemoryBack()
  }

  func giveBackOutput(_ count: Int) { shared.outputBytes.subtract(count, ordering: .relaxed) }

  // MARK: Draining

  /// Tells the loop something from any thread.
  func post(_ order: Mailbox.Order) {
    mailbox.post(order)
  }

  private func beginDraining() {
    guard !isDraining else { return }
    // Whoever is in the backlog was told that the connection stands: serve them, then listen no more.
    // Bounded by what the backlog held: new ones may come as fast as they are accepted.
    for _ in 0..<64 {
      guard acceptConnections() else { break }
    }
    isDraining = true
    drainDeadline = time.monotonic() + bounds.drain
    stopListening()
    connections.forEach { $0.drain() }
  }

  private func stopListening() {
    listener?.close()
    listener = nil
  }

  // MARK: Parking

  /// Brings parked connections back. May be called from any thread.
  func wake(_ tokens: [UInt64]) {
    mailbox.wake(tokens)
  }

  /// Wakes so many of those that are to come back, not all at once: what thousands wait for mustn't keep whoever else is on this
  /// loop from their answers.
  private func wakeSome() {
    let portion = woken.prefix(Self.wakingsATurn)
    woken.removeFirst(portion.count)
    for token in portion { connections[token]?.wake() }
  }

  // MARK: What connections borrow

  /// Has a connection go on in the next turn, when the others have had theirs.
  func advanceLater(_ connection: Connection) {
    unfinished.append(connection)
  }

  private func advanceUnfinished() {
    guard !unfinished.isEmpty else { return }
    let connections = unfinished
    unfinished = []
    for connection in connections { connection.advance() }
  }

  /// Has the connection's deadline looked at when it's due, or earlier. Gives when.
  func schedule(_ token: UInt64, at deadline: Int64) -> Int64 {
    wheel.schedule(token, at: deadline)
  }

  /// Reads from a socket into the loop's own buffer and hands what came to `body`, which must not keep it.
  func read(_ socket: Socket, _ body: (UnsafeRawBufferPointer) -> Void) -> Socket.Outcome {
    let outcome = socket.read(into: scratch)
    if case .bytes(let count) = outcome {
      counters.received.addAsOnlyWriter(count)
      body(UnsafeRawBufferPointer(rebasing: scratch[..<count]))
    }
    return outcome
  }

  var scratchSize: Int { scratch.count }

  /// An empty buffer with room in it; give it back with `recycle`.
  func takeBuffer() -> [UInt8] {
    if let buffer = spareBuffers.popLast() { return buffer }
    var buffer: [UInt8] = []
    buffer.reserveCapacity(4096)
    return buffer
  }

  func recycle(_ buffer: consuming [UInt8]) {
    // Few are out at once, and one that grew is better given back to the system.
    guard spareBuffers.count < 16, buffer.capacity <= 128 * 1024 else { return }
    buffer.removeAll(keepingCapacity: true)
    spareBuffers.append(buffer)
  }

  private func lookAtClock() {
    now = time.monotonic()
    let second = Int(time.millisecondsSince1970() / 1000)
    guard second != dateSecond else { return }
    dateSecond = second
    dateField = HTTPDate.field(secondsSince1970: second)
  }
}

/// What the loops of one server share.
final class SharedState: Sendable {
  /// Connections that are served.
  let served = Atomic(0)
  /// Connections that are one too many and are being told so: they take nobody's place.
  let refused = Atomic(0)
  /// Bytes of request bodies that are held in memory.
  let bodyBytes = Atomic(0)
  /// Bytes of output that wait in memory for clients to take them.
  let outputBytes = Atomic(0)
  /// Much of it has been held since memory was last returned to the system.
  let hasHeldMuch = Atomic(false)
}
