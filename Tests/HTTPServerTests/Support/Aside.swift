import Glibc

/// Runs something that blocks on a thread of its own and waits for it without holding the caller's: tests share few
/// threads, and one that blocks would slow all the others.
func aside(_ work: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    var thread = pthread_t()
    let body = Unmanaged.passRetained(
      Work {
        work()
        continuation.resume()
      }
    )
    pthread_create(
      &thread,
      nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
        return nil
      },
      body.toOpaque()
    )
    pthread_detach(thread)
  }
}

private final class Work: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}
