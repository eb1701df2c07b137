import Glibc
import LockstepComposition
import LockstepThreading

extension sigset_t {
  fileprivate static let termination: sigset_t = {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    return signals
  }()

  /// Blocks the signals for this thread and the threads that it starts from now on.
  fileprivate func block() {
    var signals = self
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Waits for one of the signals; nil on failure.
  fileprivate func wait() -> Int32? {
    var (signals, number) = (self, Int32(0))
    return sigwait(&signals, &number) == 0 ? number : nil
  }
}

/// SIGTERM and SIGINT of a server. A thread waits for them, because a signal handler can call only
/// a few functions.
struct ShutdownSignals {
  /// Blocks the signals, and makes writes to closed pipes fail instead of ending the process.
  init() {
    sigset_t.termination.block()
    signal(SIGPIPE, SIG_IGN)
  }

  /// The work that the first signal ends.
  private enum Work: Sendable {
    case start
    case running(stop: @Sendable () -> Void)
    case ended
  }

  private let work = LockedState(Work.start)

  /// From now on, the first signal ends the process, after `beforeEnd`: until the server runs, there is
  /// nothing to finish. The store rolls back a transaction that the start has begun, as after a crash.
  func endStart(after beforeEnd: @escaping @Sendable () -> Void) throws {
    _ = try NamedThread(name: "signals") { [work] in
      _ = sigset_t.termination.wait()
      let stop = work.withLock { work -> (@Sendable () -> Void)? in
        defer { work = .ended }
        guard case .running(let stop) = work else { return nil }
        return stop
      }
      guard let stop else {
        beforeEnd()
        _exit(ExitCode.success.rawValue)
      }
      stop()
      _ = sigset_t.termination.wait()
      _exit(ExitCode.interrupted.rawValue)
    }
  }

  /// From now on, the first signal calls `stop`, and the second ends the process.
  func onFirst(_ stop: @escaping @Sendable () -> Void) {
    work.withLock { if case .start = $0 { $0 = .running(stop: stop) } }
  }
}

/// Handles SIGINT and SIGTERM for a process that sends an admin command to a server. The process
/// must not end before it has withdrawn the command or knows that the server has it. A thread waits for the signals.
///
/// Between `hold()` and `release()`, the first signal is recorded, and the second ends the process
/// with a warning. At other times, the first signal ends the process as usual.
final class SignalInterceptor: Interruption {
  private struct State: Sendable {
    var isHeld = false
    var recorded: Int32?
  }

  private let state: LockedState<State>
  private let thread: NamedThread

  /// Intercepts the signals from now on. Call this before other threads start, so that all of them
  /// block the signals.
  init() throws(NamedThread.NotStarted) {
    sigset_t.termination.block()
    let state = LockedState(State())
    self.state = state
    thread = try NamedThread(name: "signals") {
      while let number = sigset_t.termination.wait() {
        let isRecorded = state.withLock { state in
          guard state.isHeld, state.recorded == nil else { return false }
          state.recorded = number
          return true
        }
        if isRecorded { continue }
        if state.withLock(\.isHeld) {
          Terminal.error("The admin command is not withdrawn yet: the server may still run it.\n")
        }
        Self.end(by: number)
      }
    }
  }

  deinit { thread.detach() }

  /// The exit code for the recorded signal; nil if there is none.
  private var code: ExitCode? { state.withLock(\.recorded).map { $0 == SIGTERM ? .terminated : .interrupted } }

  /// Sends an admin command. An interruption becomes an error with its exit code.
  func report<Value>(_ send: () throws -> Value) throws -> Value {
    do { return try send() } catch let error as AdministrationInterruptedError {
      throw CommandError(code ?? .interrupted, "\(error)")
    }
  }

  var isInterrupted: Bool { state.withLock { $0.recorded != nil } }

  func hold() { state.withLock { $0.isHeld = true } }

  func release() { state.withLock { $0.isHeld = false } }

  /// Ends the process by a signal, so that a shell sees the signal.
  private static func end(by number: Int32) {
    signal(number, SIG_DFL)
    var signals = sigset_t.termination
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    raise(number)
  }
}
