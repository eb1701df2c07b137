import LockstepReactor

/// A failure of a screen's reactor, such as in an effect or in a stream that the reactor merges.
package struct ScreenFailure: Sendable {
  /// The part that failed: `action`, `actionStream`, `mutationStream` or `stateStream`.
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
  package internal(set) var count = 0
  package internal(set) var last: ScreenFailure?
}
