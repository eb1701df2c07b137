import Glibc
import LockstepHTTPServer
import LockstepThreading

/// SIGTERM and SIGINT, taken by a thread that waits for them instead of a handler that may do next to nothing.
struct StopSignals {
  private let signals: sigset_t

  /// Blocks the signals for this thread and those it starts from now on, and has writes to closed pipes fail quietly.
  init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    signal(SIGPIPE, SIG_IGN)
    self.signals = signals
  }

  /// Calls `stop` at the first signal, and ends the process at the second.
  func onFirst(_ stop: @escaping @Sendable () -> Void) throws {
    let signals = signals
    _ = try NamedThread(name: "signals") {
      var set = signals
      var number: Int32 = 0
      sigwait(&set, &number)
      stop()
      sigwait(&set, &number)
      _exit(ExitCode.interrupted.rawValue)
    }
  }
}
