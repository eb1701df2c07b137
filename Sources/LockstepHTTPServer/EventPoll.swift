import CLockstepLinux
import Glibc

/// The kernel's list of what this loop waits for, and the bell with which other threads wake it.
///
/// Sockets are watched edge-triggered and for everything at once, so a connection costs one call to be watched and none
/// a request. Each event carries the token its watcher gave.
final class EventPoll {
  /// What happened to a descriptor.
  struct Event {
    let token: UInt64
    private let flags: UInt32

    fileprivate init(_ event: epoll_event) {
      token = event.data.u64
      flags = event.events
    }

    var isReadable: Bool { flags & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 }
    var isWritable: Bool { flags & EPOLLOUT.rawValue != 0 }
    /// The other side sends no more: it half-closed the connection, or is gone.
    var isFinished: Bool { flags & EPOLLRDHUP.rawValue != 0 }
    var isBroken: Bool { flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 }
  }

  /// The token of the bell.
  static var bellToken: UInt64 { .max }

  private let descriptor: Int32
  private let bell: Int32
  private var events = [epoll_event](repeating: epoll_event(), count: 512)

  init() throws(SystemError) {
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard descriptor >= 0 else { throw SystemError("epoll_create1", purpose: "start an event loop") }
    bell = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard bell >= 0 else { throw SystemError("eventfd", purpose: "start an event loop") }
    control(EPOLL_CTL_ADD, bell, EPOLLIN.rawValue, Self.bellToken)
  }

  deinit {
    close(bell)
    close(descriptor)
  }

  /// Watches a connected socket for everything. Gives whether the kernel could.
  func watch(_ socket: Socket, token: UInt64) -> Bool {
    let all = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
    return control(EPOLL_CTL_ADD, socket.descriptor, all, token)
  }

  /// Watches a listening socket for new connections.
  func watch(_ listener: ListeningSocket, token: UInt64) -> Bool {
    control(EPOLL_CTL_ADD, listener.descriptor, EPOLLIN.rawValue, token)
  }

  /// Stops or goes on telling of new connections.
  func setPaused(_ isPaused: Bool, _ listener: ListeningSocket, token: UInt64) {
    control(EPOLL_CTL_MOD, listener.descriptor, isPaused ? 0 : EPOLLIN.rawValue, token)
  }

  /// Waits until something happens or `nanoseconds` are over; nil waits without end. Gives how many events there are.
  func wait(nanoseconds: Int64?) -> Int {
    // Rounded up, so that what is waited for is due afterwards.
    let milliseconds = nanoseconds.map { Int32(clamping: ($0 + 999_999) / 1_000_000) } ?? -1
    return max(0, Int(epoll_wait(descriptor, &events, Int32(events.count), milliseconds)))
  }

  /// One of the events that the last wait gave.
  func event(_ index: Int) -> Event { Event(events[index]) }

  /// Wakes the loop. The bell's number: it may be rung from any thread while the loop lives.
  var bellDescriptor: Int32 { bell }

  /// Makes the bell silent again.
  func hearBell() {
    var count: UInt64 = 0
    _ = read(bell, &count, MemoryLayout<UInt64>.size)
  }

  @discardableResult
  private func control(_ operation: Int32, _ target: Int32, _ flags: UInt32, _ token: UInt64) -> Bool {
    var event = epoll_event()
    event.events = flags
    event.data.u64 = token
    return epoll_ctl(descriptor, operation, target, &event) == 0
  }
}
