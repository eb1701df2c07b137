#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A thread for one closure, with a name that `top` shows. The caller must join or detach it, once.
public struct NamedThread: Sendable {
  /// The system could not start a thread.
  public struct NotStarted: Error, Equatable, CustomStringConvertible {
    package let name: String
    package let code: Int32

    /// The name and the reason.
    public var description: String {
      "cannot start the thread \(name): \(String(cString: strerror(code))) (pthread_create, errno \(code))"
    }
  }

  #if canImport(Glibc)
    private let handle: pthread_t
  #else
    /// A pointer that only the system follows.
    nonisolated(unsafe) private let handle: pthread_t
  #endif

  /// Starts a thread. Linux keeps the first 15 bytes of the name, Darwin the first 63.
  public init(name: String, _ body: @escaping @Sendable () -> Void) throws(NotStarted) {
    #if canImport(Glibc)
      var handle = pthread_t()
    #else
      var handle: pthread_t?
    #endif
    // The new thread takes over this reference. If no thread starts, the reference is released
    // below.
    let start = Unmanaged.passRetained(
      Start {
        Self.nameCurrent(name)
        body()
      }
    )
    let code = pthread_create(
      &handle,
      nil,
      { argument in
        // Optional on some systems only.
        let argument: UnsafeMutableRawPointer? = argument
        // Takes the reference that `passRetained` made, exactly once.
        if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body() }
        return nil
      },
      start.toOpaque()
    )
    let started: pthread_t? = handle
    guard code == 0, let started else {
      start.release()
      throw NotStarted(name: name, code: code)
    }
    self.handle = started
  }

  /// Checks that the system can run `count` more threads. Call this before using an API that waits
  /// forever if it gets no thread, such as Swift's own thread pools.
  package static func expectRoom(
    for count: Int,
    start: (String, @escaping @Sendable () -> Void) throws(NotStarted) -> NamedThread = NamedThread.init(name:_:)
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

  package func join() { pthread_join(handle, nil) }

  package func detach() { pthread_detach(handle) }

  #if canImport(Darwin)
    private static func nameCurrent(_ name: String) { pthread_setname_np(name) }
  #else
    /// Uses `/proc`, if there is one, because Swift's Glibc has no `pthread_setname_np`.
    private static func nameCurrent(_ name: String) {
      let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
      guard file >= 0 else { return }
      let bytes = Array(name.utf8)
      _ = write(file, bytes, bytes.count)
      close(file)
    }
  #endif

  private final class Start: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
