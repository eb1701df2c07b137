import LockstepThreading

/// Runs something that blocks on a thread of its own and waits for it without holding the caller's: tests share few
/// threads, and one that blocks would slow all the others.
public func aside(_ work: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    do {
      let thread = try NamedThread(name: "aside") {
        work()
        continuation.resume()
      }
      thread.detach()
    } catch {
      // Without a thread to spare the others have to wait.
      work()
      continuation.resume()
    }
  }
}
