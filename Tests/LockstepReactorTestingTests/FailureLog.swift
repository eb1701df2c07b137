import LockstepReactorTesting
import Synchronization

/// Collects failure texts, to test them word for word.
final class FailureLog: Sendable {
  private let reported = Mutex<[String]>([])

  var texts: [String] { reported.withLock { $0 } }

  var reporter: FailureReporter {
    FailureReporter { [self] text, _ in reported.withLock { $0.append(text) } }
  }
}
