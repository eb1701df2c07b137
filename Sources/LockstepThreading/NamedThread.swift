import Glibc

/// A thread of its own for one closure, with a name that `top` and `gdb` show. Whoever starts it joins or detaches it,
/// once.
public struct NamedThread: Sendable {
  /// The system had no thread to give.
  public struct NotStarted: Error, Equatable, CustomStringConvertible {
    /// The thread's name.
    public let name: String
    /// What `pthread_create` returned: an `errno`.
    public let code: Int32

    /// For example: `cannot start the thread hasher-1: Resource temporarily unavailable (pthread_create, errno 11)`.
    public var description: String {
      "cannot start the thread \(name): \(String(cString: strerror(code))) (pthread_create, errno \(code))"
    }
  }

  private let handle: pthread_t

  /// Starts a thread. The system keeps the first 15 bytes of the name.
  public init(name: String, _ body: @escaping @Sendable () -> Void) throws(NotStarted) {
    var handle = pthread_t()
    // The new thread is handed this one reference; it takes it, or, where there is no thread, it is released below.
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    let code = pthread_create(
      &handle,
      nil,
      { argument in
        guard let argument else { return nil }
        // What `pthread_create` was given: the reference that `passRetained` made, taken exactly once.
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        NamedThread.nameCurrent(start.name)
        start.body()
        return nil
      },
      start.toOpaque()
    )
    guard code == 0 else {
      start.release()
      throw NotStarted(name: name, code: code)
    }
    self.handle = handle
  }

  /// Returns where the system gives so many threads at once, and throws where it doesn't; they have ended then.
  ///
  /// For whoever is about to use what waits for a thread without a word where there is none, as the system's own pools do.
  public static func expectRoom(for count: Int) throws(NotStarted) {
    try expectRoom(for: count) { (name, body) throws(NotStarted) in try NamedThread(name: name, body) }
  }

  /// The same, with threads that `start` starts.
  static func expectRoom(
    for count: Int,
    start: (String, @escaping @Sendable () -> Void) throws(NotStarted) -> NamedThread
  ) throws(NotStarted) {
    let isOver = LockedState(false)
    var started: [NamedThread] = []
    defer {
      isOver.withLock { $0 = true }
      isOver.wakeAll()
      for thread in started { thread.join() }
    }
    for number in 0..<max(0, count) {
      started.append(try start("room-\(number + 1)") { isOver.wait { isOver -> Void? in isOver ? () : nil } })
    }
  }

  /// Returns when the thread has ended.
  public func join() {
    pthread_join(handle, nil)
  }

  /// Lets the thread end by itself, unobserved.
  public func detach() {
    pthread_detach(handle)
  }

  /// Names the calling thread through `/proc`: `pthread_setname_np` isn't part of Swift's Glibc. A thread without a name
  /// works as well, so that a system without `/proc` is no error.
  private static func nameCurrent(_ name: String) {
    let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard file >= 0 else { return }
    let bytes = Array(name.utf8)
    _ = write(file, bytes, bytes.count)
    close(file)
  }

  private final class Start: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}
