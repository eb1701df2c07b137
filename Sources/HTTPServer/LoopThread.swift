import CLinux
import Glibc

/// A thread of its own for one closure; the one who starts it joins it.
public struct LoopThread: Sendable {
  private let handle: pthread_t

  /// Starts a thread. The system keeps the first 15 bytes of the name.
  public init(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    var handle = pthread_t()
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    let code = pthread_create(
      &handle,
      nil,
      { argument in
        // `passRetained` above gave this thread the one reference that is taken here.
        guard let argument else { return nil }
        let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
        _ = lockstep_name_thread(String(start.name.prefix(15)))
        start.body()
        return nil
      },
      start.toOpaque()
    )
    guard code == 0 else {
      start.release()
      throw SystemError("pthread_create", purpose: "start the thread \(name)", code: code)
    }
    self.handle = handle
  }

  /// Returns when the thread has ended. To be called once.
  public func join() {
    pthread_join(handle, nil)
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
