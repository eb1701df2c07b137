import Glibc
import Lockstep
import LockstepMaintenance
import LockstepThreading

/// SIGINT and SIGTERM for a command that mustn't just end while a server has its order: a thread takes them, since of all
/// threads those that nobody of ours has started would otherwise get them too.
///
/// While they aren't held the first one ends the process as if nobody took it. While they are, the first one is noted, and the
/// second ends the process with a word about that.
final class SignalInterceptor: Interruption {
  private struct State: Sendable {
    var isHeld = false
    /// The one that was noted.
    var noted: Int32?
  }

  private let state: LockedState<State>
  private let thread: NamedThread

  /// Takes the signals from now on. To be called before any other thread is started, so that all of them leave the signals alone.
  ///
  /// - Throws: `NamedThread.NotStarted` where the system has no more threads.
  init() throws(NamedThread.NotStarted) {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    let (state, taken) = (LockedState(State()), signals)
    self.state = state
    thread = try NamedThread(name: "signals") {
      var signals = taken
      var number: Int32 = 0
      while sigwait(&signals, &number) == 0 {
        let isNoted = state.withLock { state in
          guard state.isHeld, state.noted == nil else { return false }
          state.noted = number
          return true
        }
        if isNoted { continue }
        if state.withLock(\.isHeld) {
          Terminal.error("The order isn't taken back yet: the server may still carry it out, within a minute.\n")
        }
        Self.end(by: number)
      }
    }
  }

  deinit { thread.detach() }

  /// How a command ends that was told to; nil where it wasn't.
  var code: ExitCode? { state.withLock(\.noted).map { $0 == SIGTERM ? .terminated : .interrupted } }

  func hold() { state.withLock { $0.isHeld = true } }

  var hasCome: Bool { state.withLock { $0.noted != nil } }

  func release() { state.withLock { $0.isHeld = false } }

  /// Ends the process by a signal, so that a shell sees that it was one.
  private static func end(by number: Int32) {
    signal(number, SIG_DFL)
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, number)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    raise(number)
  }
}
