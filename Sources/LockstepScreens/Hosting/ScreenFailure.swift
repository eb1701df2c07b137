import LockstepReactor
import LockstepThreading

/// A failure of a screen: of an effect, of a stream that the reactor merges, or one that the reactor
/// reports.
package struct ScreenFailure: Sendable {
  /// The part that failed: `action`, `actionStream`, `mutationStream`, `stateStream`, or the part that
  /// the reactor names.
  package let origin: String
  package let error: any Error

  /// The start of the error's description. It never contains the action, which may hold a password.
  package var message: String { String(String(describing: error).prefix(500)) }
}

extension ScreenFailure {
  init<Action>(_ failure: ReactorFailure<Action>) {
    origin =
      switch failure.origin {
      case .action: "action"
      case .actionStream: "actionStream"
      case .mutationStream: "mutationStream"
      case .stateStream: "stateStream"
      }
    error = failure.error
  }
}

/// The failures of one screen since it was opened.
package struct ScreenFailures: Sendable {
  package fileprivate(set) var count = 0
  package fileprivate(set) var last: ScreenFailure?
}

/// The one place through which all failures of a screen go: to the inspector, which shows the count
/// and the last one, and on to the metrics and the log.
final class ErrorAction: Sendable {
  private let failures = LockedState(ScreenFailures())
  private let failed: @Sendable (ScreenFailure) -> Void

  init(_ failed: @escaping @Sendable (ScreenFailure) -> Void) { self.failed = failed }

  var reported: ScreenFailures { failures.withLock { $0 } }

  func report(_ failure: ScreenFailure) {
    // A cancelled effect, for example of a screen that was closed, is no failure.
    if failure.error is CancellationError { return }
    failures.withLock { failures in
      failures.count += 1
      failures.last = failure
    }
    failed(failure)
  }
}
