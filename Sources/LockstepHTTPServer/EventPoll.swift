import CLockstepLinux
import Glibc

/// The descriptors that a loop waits for (epoll), and the event with which other threads wake the
/// loop. Sockets are watched edge-triggered and for all events, so a request needs no `epoll_ctl`.
final class EventPoll {
  struct Event {
    let token: UInt64
    fileprivate let flags: UInt32

    var isReadable: Bool { flags & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 }
    /// The client sends no more: it has closed its side or is gone.
    var isFinished: Bool { flags & EPOLLRDHUP.rawValue != 0 }
    var isBroken: Bool { flags & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 }
  }

  static var wakeToken: UInt64 { .max }

  private let descriptor: Int32
  /// An eventfd. Any thread may write to it while the loop lives.
  let wakeEvent: Int32
  private var events = [epoll_event](repeating: epoll_event(), count: 512)

  init() throws(SystemError) {
    descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
    guard descriptor >= 0 else { throw SystemError("epoll_create1", purpose: "start an event loop") }
    wakeEvent = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    guard wakeEvent >= 0 else { throw SystemError("eventfd", purpose: "start an event loop") }
    control(EPOLL_CTL_ADD, wakeEvent, EPOLLIN.rawValue, Self.wakeToken)
  }

  deinit {
    close(wakeEvent)
    close(descriptor)
  }

  /// Returns whether the kernel accepted the socket.
  func watch(_ socket: Socket, token: UInt64) -> Bool {
    let all = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
    return control(EPOLL_CTL_ADD, socket.descriptor, all, token)
  }

  func watch(_ listener: ListeningSocket, token: UInt64) -> Bool {
    control(EPOLL_CTL_ADD, listener.descriptor, EPOLLIN.rawValue, token)
  }

  func setPaused(_ isPaused: Bool, _ listener: ListeningSocket, token: UInt64) {
    control(EPOLL_CTL_MOD, listener.descriptor, isPaused ? 0 : EPOLLIN.rawValue, token)
  }

  /// Waits for events for at most `nanoseconds`, or without a limit for nil. Returns the number of
  /// events.
  func wait(nanoseconds: Int64?) -> Int {
    // Rounded up, so that the deadline has passed when the wait ends.
    let milliseconds = nanoseconds.map { Int32(clamping: ($0 + 999_999) / 1_000_000) } ?? -1
    return max(0, Int(epoll_wait(descriptor, &events, Int32(events.count), milliseconds)))
  }

  func event(_ index: Int) -> Event { Event(token: events[index].data.u64, flags: events[index].events) }

  func resetWakeEvent() {
    var count: UInt64 = 0
    _ = read(wakeEvent, &count, MemoryLayout<UInt64>.size)
  }

  @discardableResult
  private func control(_ operation: Int32, _ target: Int32, _ flags: UInt32, _ token: UInt64) -> Bool {
    var event = epoll_event()
    event.events = flags
    event.data.u64 = token
    return epoll_ctl(descriptor, operation, target, &event) == 0
  }
}
