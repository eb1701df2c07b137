import CLockstepLinux
import Glibc
import LockstepHTTP
import Synchronization
import LockstepTime

/// A thread that serves a share of the connections. It waits for their events and executes their
/// tasks. After every `await`, a handler continues on this thread.
///
/// `@unchecked Sendable`: only the loop's own thread touches the variables below, in `run()` and in
/// the jobs that it runs. Other threads use `mailbox`, which has a lock.
final class EventLoop: SerialExecutor, TaskExecutor, WakeTarget, @unchecked Sendable {
  let index: Int
  let counters = LoopCounters()
  let limits: Limits
  let bounds: ConnectionBounds
  private(set) var respond: Responder = { _ in .response(Problem(.overloaded).response) }
  private var reportRefusal: @Sendable (ServerRefusal) -> Void = { _ in }
  private(set) var outputOwner: OutputOwner = { _, _ in nil }
  private let configuration: Server.Configuration
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
  /// Connections that have more to do in the next turn of the loop.
  private var unfinished: [Connection] = []
  /// The tokens of parked connections to wake. Those before `served` are done.
  private var woken: [UInt64] = []
  private var served = 0
  private var spareBuffers: [[UInt8]] = []
  private let scratch: UnsafeMutableRawBufferPointer
  private var dateSecond = -1
  private(set) var dateField: [UInt8] = []
  private(set) lazy var isolation = LoopIsolation(self)
  var recentRequests: RecentRequests
  /// When this turn of the loop began, in nanoseconds.
  private(set) var now: Int64
  private(set) var isDraining = false
  private var drainDeadline = Int64.max

  private static let listenerToken = EventPoll.wakeToken - 1
  private static let memoryToken = listenerToken - 1
  /// From this much output on, the allocator may keep much memory after the output is sent.
  private static let muchOutput = 16 * 1024 * 1024
  /// The same for bodies, which take more memory when they are parsed.
  private static let muchOfBodies = 4 * 1024 * 1024
  private static let memoryPause: Int64 = 10_000_000_000
  private static let wakeUpsPerTurn = 128
  private static let acceptPause: Int64 = 100_000_000
  private static let acceptReportPause: Int64 = 60_000_000_000

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
    self.configuration = configuration
    self.time = time
    self.shared = shared
    poll = try EventPoll()
    mailbox = Mailbox(wakeEvent: poll.wakeEvent)
    recentRequests = RecentRequests(capacity: configuration.recentRequestBytes / configuration.loops)
    now = time.monotonic()
    wheel = DeadlineWheel(now: now)
    scratch = .allocate(byteCount: 64 * 1024, alignment: 16)
  }

  deinit {
    listener?.close()
    scratch.deallocate()
  }

  // MARK: Running

  func run(
    _ respond: @escaping Responder,
    noteRefusal: @escaping @Sendable (ServerRefusal) -> Void,
    outputOwner: @escaping OutputOwner
  ) {
    thread = pthread_self()
    self.respond = respond
    self.outputOwner = outputOwner
    reportRefusal = noteRefusal
    if let listener, !poll.watch(listener, token: Self.listenerToken) { stopListening() }
    while !(isDraining && (connections.isEmpty || now >= drainDeadline)) {
      turn()
    }
    mailbox.close()
    cutConnections()
  }

  /// Closes all connections, even if a handler ignores its cancellation.
  private func cutConnections() {
    connections.forEach { $0.cut() }
    for _ in 0..<16 where !arrivedJobs.isEmpty { runJobs() }
    connections.forEach { release($0) }
  }

  private func turn() {
    let hasWork = !arrivedJobs.isEmpty || !unfinished.isEmpty || !woken.isEmpty
    let events = poll.wait(nanoseconds: hasWork ? 0 : timeToWait())
    readClock()
    for index in 0..<events { handle(poll.event(index)) }
    wakeParked()
    let connections = unfinished
    unfinished = []
    for connection in connections { connection.advance() }
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
    case EventPoll.wakeToken: collectMail()
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

  /// Adds a job of a task that prefers this loop. May be called from any thread.
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    if isOnLoop { arrivedJobs.append(job) } else { mailbox.post { $0.jobs.append(job) } }
  }

  // `thread` is set once, before the first job exists.
  private var isOnLoop: Bool { thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }

  /// Runs the present jobs. Jobs that they add run in the next turn, after its events.
  private func runJobs() {
    swap(&arrivedJobs, &runningJobs)
    let (serial, task) = (asUnownedSerialExecutor(), asUnownedTaskExecutor())
    for job in runningJobs {
      job.runSynchronously(isolatedTo: serial, taskExecutor: task)
    }
    runningJobs.removeAll(keepingCapacity: true)
  }

  private func collectMail() {
    poll.resetWakeEvent()
    let mail = mailbox.collect()
    arrivedJobs.append(contentsOf: mail.jobs)
    woken.removeFirst(served)
    served = 0
    woken.append(contentsOf: mail.woken)
    if mail.drains { beginDraining() }
  }

  // MARK: Accepting

  /// Accepts connections of the backlog. Returns whether there may be more.
  @discardableResult
  private func acceptConnections() -> Bool {
    guard let listener else { return false }
    // Bounded, so that a flood of new connections does not starve the present ones.
    for _ in 0..<64 {
      guard shared.open < configuration.descriptors else {
        pauseAccepting(SystemError("accept", purpose: "accept a connection", code: EMFILE))
        return false
      }
      var address = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let descriptor = lockstep_accept(listener.descriptor, &address, &length)
      guard descriptor >= 0 else {
        if errno == ECONNABORTED || errno == EINTR { continue }
        if errno != EAGAIN { pauseAccepting(SystemError("accept", purpose: "accept a connection")) }
        return false
      }
      guard listener.admits(descriptor) else {
        Socket(descriptor: descriptor).close()
        continue
      }
      admit(Socket(descriptor: descriptor), address, length)
    }
    return true
  }

  /// Stops accepting for a moment, because there are no descriptors or no memory. The connection
  /// stays in the backlog, so otherwise the loop would try again without end.
  private func pauseAccepting(_ error: SystemError) {
    guard let listener else { return }
    counters.add(1, to: .acceptPauses)
    if shared.mayReportPause(at: now, every: Self.acceptReportPause) { configuration.cannotAccept(error) }
    poll.setPaused(true, listener, token: Self.listenerToken)
    wheel.schedule(Self.listenerToken, at: now + Self.acceptPause)
  }

  private func admit(_ socket: Socket, _ address: sockaddr_storage, _ length: socklen_t) {
    counters.add(1, to: .accepted)
    let isSurplus = shared.served.add(1, ordering: .relaxed).newValue > limits.connections
    if isSurplus {
      counters.add(1, to: .refused)
      shared.served.subtract(1, ordering: .relaxed)
      // Refused connections use descriptors too, so their number is bounded.
      guard shared.refused.add(1, ordering: .relaxed).newValue <= configuration.refusals else {
        shared.refused.subtract(1, ordering: .relaxed)
        return socket.close()
      }
    }
    socket.disableDelay()
    let token = connections.nextToken(for: socket.descriptor)
    let peer = PeerAddress(address, length: length)
    let connection = Connection(socket: socket, token: token, peer: peer, loop: self, isSurplus: isSurplus)
    connections[token] = connection
    counters.add(1, to: .open)
    guard poll.watch(socket, token: token) else { return release(connection) }
    connection.advance()
  }

  func release(_ connection: Connection) {
    guard connections[connection.token] === connection else { return }
    connection.releaseBody()
    connection.settleOutput(0)
    connections[connection.token] = nil
    connection.socket.close()
    counters.add(-1, to: .open)
    if connection.machine.isSurplus {
      shared.refused.subtract(1, ordering: .relaxed)
    } else {
      shared.served.subtract(1, ordering: .relaxed)
    }
  }

  /// Reports a refusal and returns the additional header fields of its response.
  func noteRefusal(_ kind: ProblemKind, of peer: PeerAddress, origin: String?) -> HeaderFields {
    reportRefusal(ServerRefusal(peer: peer, kind: kind, loop: index))
    return configuration.refusalFields(origin)
  }

  // MARK: Memory for bodies and output

  var outputMemory: SharedMemory { shared.output }
  var bodyMemory: SharedMemory { shared.bodies }

  /// Counts more bytes of output as in memory, if there is room. Otherwise returns the reason.
  func holdOutput(_ count: Int, beside own: Int, of owner: String?) -> SharedMemory.Refusal? {
    let refusal = shared.output.hold(count, beside: own, of: owner)
    // Responses that do not fit have taken memory too.
    if shared.output.bytes >= Self.muchOutput || refusal != nil { returnMemoryLater() }
    return refusal
  }

  /// Counts more bytes of bodies as in memory, if there is room. Returns whether there is.
  func holdBody(_ count: Int, of owner: String?) -> Bool {
    let isRefused = shared.bodies.hold(count, of: owner) != nil
    if shared.bodies.bytes >= Self.muchOfBodies || isRefused { returnMemoryLater() }
    return !isRefused
  }

  private func returnMemoryLater() {
    guard !shared.hasHeldMuch.exchange(true, ordering: .relaxed) else { return }
    wheel.schedule(Self.memoryToken, at: now + Self.memoryPause)
  }

  private func returnMemory() {
    if shared.output.bytes < Self.muchOutput, shared.bodies.bytes < Self.muchOfBodies {
      shared.hasHeldMuch.store(false, ordering: .relaxed)
      configuration.returnMemory()
    } else {
      wheel.schedule(Self.memoryToken, at: now + Self.memoryPause)
    }
  }

  // MARK: Draining

  /// May be called from any thread.
  func drain() { mailbox.post { $0.drains = true } }

  private func beginDraining() {
    guard !isDraining else { return }
    // Clients in the backlog are connected already, so they are served. Their number is limited to
    // that of a full backlog, because new clients may connect meanwhile.
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

  /// Wakes parked connections. May be called from any thread.
  func wake(_ tokens: [UInt64]) { mailbox.post { $0.woken.append(contentsOf: tokens) } }

  /// Limited, so that thousands of waiters do not delay other requests.
  private func wakeParked() {
    let end = min(served + Self.wakeUpsPerTurn, woken.count)
    while served < end {
      connections[woken[served]]?.wake()
      served += 1
    }
    if served == woken.count {
      woken = []
      served = 0
    }
  }

  // MARK: Services for connections

  /// Lets a connection go on in the next turn, after the others have had theirs.
  func advanceLater(_ connection: Connection) { unfinished.append(connection) }

  /// Schedules a check of a connection's deadline. Returns when the check is due.
  func schedule(_ token: UInt64, at deadline: Int64) -> Int64 { wheel.schedule(token, at: deadline) }

  /// Reads from a socket and passes the bytes to `body`. They are valid only during the call.
  func read(_ socket: Socket, _ body: (UnsafeRawBufferPointer) -> Void) -> Socket.Outcome {
    let outcome = socket.read(into: scratch)
    if case .bytes(let count) = outcome {
      counters.add(count, to: .received)
      body(UnsafeRawBufferPointer(scratch).slice(0..<count))
    }
    return outcome
  }

  var scratchSize: Int { scratch.count }

  func takeBuffer() -> [UInt8] {
    if let buffer = spareBuffers.popLast() { return buffer }
    var buffer: [UInt8] = []
    buffer.reserveCapacity(4096)
    return buffer
  }

  func recycle(_ buffer: consuming [UInt8]) {
    // Few buffers are in use at once. A large buffer is freed, because it would keep its memory.
    guard spareBuffers.count < 16, buffer.capacity <= 128 * 1024 else { return }
    buffer.removeAll(keepingCapacity: true)
    spareBuffers.append(buffer)
  }

  private func readClock() {
    now = time.monotonic()
    let second = Int(time.millisecondsSince1970() / 1000)
    guard second != dateSecond else { return }
    dateSecond = second
    dateField = HTTPDate.field(secondsSince1970: second)
  }
}

final class SharedState: Sendable {
  /// Open connections, without those that are being refused.
  let served = Atomic(0)
  /// Connections beyond the limit that are being refused.
  let refused = Atomic(0)
  var open: Int { served.load(ordering: .relaxed) + refused.load(ordering: .relaxed) }
  let bodies: SharedMemory
  let output: SharedMemory
  /// Whether much output or many bodies have been in memory since memory was last returned to the system.
  let hasHeldMuch = Atomic(false)
  private let pauseReport = Atomic(-Int64.max / 2)

  init(limits: Limits) {
    bodies = SharedMemory(limit: limits.bodyMemory)
    output = SharedMemory(limit: limits.outputMemory)
  }

  /// Whether to report that the server cannot accept connections. All loops together report at most
  /// once in each `pause`.
  func mayReportPause(at now: Int64, every pause: Int64) -> Bool {
    let last = pauseReport.load(ordering: .relaxed)
    guard now - pause >= last else { return false }
    return pauseReport.compareExchange(expected: last, desired: now, ordering: .relaxed).exchanged
  }
}
