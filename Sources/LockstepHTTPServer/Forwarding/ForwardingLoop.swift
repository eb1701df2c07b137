import CLockstepLinux
import Glibc
import LockstepHTTP
import LockstepThreading
import LockstepTime

/// The thread of a `ForwardingClient`.
///
/// `@unchecked Sendable`: only the thread touches the variables below, in `run()`. Other threads use
/// `post(_:)`, which has a lock.
final class ForwardingLoop: @unchecked Sendable {
  struct Mail: Sendable {
    var started: [ExchangeStart] = []
    var commands: [(token: UInt64, ExchangeCommand)] = []
    var resolved: [(PeerAddress, [SocketAddress])] = []
    var stops = false
    /// The event that wakes the loop; nil once the loop has ended.
    fileprivate var wakeEvent: Int32?
  }

  /// The addresses of a server's name, or the exchanges that wait for them.
  private enum Resolution {
    case running(waiting: [UInt64])
    case known([SocketAddress], until: Int64)
  }

  /// How long the addresses of a name are used, in nanoseconds.
  private static let nameLifetime: Int64 = 5_000_000_000

  let bounds: ForwardingClient.Bounds
  private let time: TimeSource
  private let counts: ForwardingCounts
  private let mail: LockedState<Mail>
  private let poll: EventPoll
  private var wheel: DeadlineWheel<UInt64>
  private var connections: [UInt64: ForwardingConnection] = [:]
  private var names: [String: Resolution] = [:]
  private var heldBytes = 0
  private let scratch: UnsafeMutableRawBufferPointer
  private(set) var now: Int64

  init(_ bounds: ForwardingClient.Bounds, time: TimeSource, counts: ForwardingCounts) throws(SystemError) {
    (self.bounds, self.time, self.counts) = (bounds, time, counts)
    poll = try EventPoll()
    now = time.monotonic()
    wheel = DeadlineWheel(now: now)
    mail = LockedState(Mail(wakeEvent: poll.wakeEvent))
    scratch = .allocate(byteCount: 64 * 1024, alignment: 16)
  }

  deinit { scratch.deallocate() }

  /// Passes something to the loop, from any thread. Returns false if the loop has ended.
  @discardableResult
  func post(_ change: (inout Mail) -> Void) -> Bool {
    // The lock is held until the event is written, as in `Mailbox`.
    mail.withLock { mail in
      guard let wakeEvent = mail.wakeEvent else { return false }
      change(&mail)
      var one: UInt64 = 1
      _ = write(wakeEvent, &one, MemoryLayout<UInt64>.size)
      return true
    }
  }

  func run() {
    var isStopped = false
    while !isStopped {
      let count = poll.wait(nanoseconds: wheel.timeUntilNext(from: now))
      now = time.monotonic()
      for index in 0..<count {
        let event = poll.event(index)
        if event.token == EventPoll.wakeToken {
          isStopped = collectMail()
        } else {
          connections[event.token]?.socketChanged()
        }
      }
      for token in wheel.advance(to: now) { connections[token]?.checkDeadline() }
    }
    let unread = mail.withLock { mail in
      mail.wakeEvent = nil
      return mail.started
    }
    for connection in Array(connections.values) { connection.fail(.shutDown) }
    for start in unread { finish(start.slot, .failed(.shutDown)) }
  }

  /// Returns whether the loop must end.
  private func collectMail() -> Bool {
    poll.resetWakeEvent()
    let collected = mail.withLock { mail in
      defer { mail = Mail(wakeEvent: mail.wakeEvent) }
      return mail
    }
    for start in collected.started { begin(start) }
    for (token, command) in collected.commands { connections[token]?.perform(command) }
    for (address, addresses) in collected.resolved { take(addresses, of: address) }
    return collected.stops
  }

  private func begin(_ start: ExchangeStart) {
    let connection = ForwardingConnection(start, loop: self)
    connections[start.token] = connection
    schedule(start.token, at: start.deadline)
    schedule(start.token, at: connection.nextPresenceCheck)
    if let address = SocketAddress(numeric: start.address) { return connection.connect(to: [address]) }
    resolve(start.address, for: connection)
  }

  // MARK: Names

  private func resolve(_ address: PeerAddress, for connection: ForwardingConnection) {
    let name = address.description
    switch names[name] {
    case .known(let addresses, let until) where now < until: connection.connect(to: addresses)
    case .running(let waiting): names[name] = .running(waiting: waiting + [connection.token])
    default:
      names[name] = .running(waiting: [connection.token])
      // The system's resolver blocks.
      let thread = try? NamedThread(name: "resolve") { [weak self] in
        let addresses = SocketAddress.resolve(address)
        self?.post { $0.resolved.append((address, addresses)) }
      }
      if let thread { thread.detach() } else { take([], of: address) }
    }
  }

  private func take(_ addresses: [SocketAddress], of address: PeerAddress) {
    let name = address.description
    guard case .running(let waiting) = names[name] else { return }
    // A name that could not be resolved is tried again for the next request.
    names[name] = addresses.isEmpty ? nil : .known(addresses, until: now + Self.nameLifetime)
    for token in waiting { connections[token]?.connect(to: addresses) }
  }

  // MARK: Services for connections

  func watch(_ socket: Socket, _ token: UInt64) -> Bool { poll.watch(socket, token: token) }

  func schedule(_ token: UInt64, at deadline: Int64) { wheel.schedule(token, at: deadline) }

  /// Reads from a socket and passes the bytes to `body`. They are valid only during the call.
  func read(_ socket: Socket, _ body: (UnsafeRawBufferPointer) -> Void) -> Socket.Outcome {
    let outcome = socket.read(into: scratch)
    if case .bytes(let count) = outcome { body(UnsafeRawBufferPointer(scratch).slice(0..<count)) }
    return outcome
  }

  /// Counts bytes of a response as in memory, if there is room.
  func hold(_ count: Int) -> Bool {
    guard heldBytes + count <= bounds.memory else { return false }
    heldBytes += count
    return true
  }

  /// Ends the exchange of a connection that is closed.
  func release(_ connection: ForwardingConnection, _ progress: ForwardedExchange.Progress?) {
    guard connections.removeValue(forKey: connection.token) != nil else { return }
    heldBytes -= connection.heldBytes
    finish(connection.slot, progress)
  }

  private func finish(_ slot: ExchangeSlot, _ progress: ForwardedExchange.Progress?) {
    counts.running.subtract(1, ordering: .relaxed)
    if case .failed = progress { counts.failures.add(1, ordering: .relaxed) }
    if let progress { slot.settle(progress) } else { slot.endStream() }
  }
}

/// An address to which a socket can connect, as the system calls take it.
struct SocketAddress: Sendable {
  private let bytes: [UInt8]
  let family: Int32

  private init(_ info: addrinfo) {
    bytes = Array(UnsafeRawBufferPointer(start: info.ai_addr, count: Int(info.ai_addrlen)))
    family = info.ai_family
  }

  /// Nil if the host is a name.
  init?(numeric address: PeerAddress) {
    let first = try? address.withResolved(flags: AI_NUMERICHOST, purpose: "read an address") { Self($0.pointee) }
    guard let first else { return nil }
    self = first
  }

  /// All addresses of a name; none if it cannot be resolved. Blocks its caller.
  static func resolve(_ address: PeerAddress) -> [SocketAddress] {
    let all = try? address.withResolved(flags: 0, purpose: "resolve a name") { first in
      var addresses: [SocketAddress] = []
      var next: UnsafeMutablePointer<addrinfo>? = first
      while let info = next?.pointee {
        addresses.append(Self(info))
        next = info.ai_next
      }
      return addresses
    }
    return all ?? []
  }

  /// Begins to connect. Returns the socket, or the error's number.
  func connect() -> Result<Socket, ConnectError> {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let socket = Socket(descriptor: Glibc.socket(family, type, 0))
    guard socket.descriptor >= 0 else { return .failure(ConnectError(code: errno)) }
    socket.disableDelay()
    let status = bytes.withUnsafeBytes { address in
      // The bytes are those of a socket address of this family.
      Glibc.connect(
        socket.descriptor,
        address.baseAddress?.assumingMemoryBound(to: sockaddr.self),
        socklen_t(address.count)
      )
    }
    guard status == 0 || errno == EINPROGRESS || errno == EINTR else {
      let error = ConnectError(code: errno)
      socket.close()
      return .failure(error)
    }
    return .success(socket)
  }
}

/// Why a socket did not connect.
struct ConnectError: Error {
  /// The value of `errno`.
  let code: Int32

  var failure: ForwardedExchange.Failure {
    switch code {
    case ECONNREFUSED: .refused
    case EMFILE, ENFILE, ENOBUFS, ENOMEM, EADDRNOTAVAIL: .full
    default: .unreachable
    }
  }
}

extension Socket {
  /// The error that the kernel has noted since the last call; 0 if there is none.
  func takeError() -> Int32 {
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
  }
}
