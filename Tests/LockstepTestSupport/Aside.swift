import LockstepThreading

/// Runs blocking work on a thread of its own and waits for it without blocking the caller's thread.
/// Tests share few threads, so one that blocks would delay all others.
public func aside(_ work: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    do {
      let thread = try NamedThread(name: "aside") {
        work()
        continuation.resume()
      }
      thread.detach()
    } catch {
      // No thread could be started, so the work runs here.
      work()
      continuation.resume()
    }
  }
}
