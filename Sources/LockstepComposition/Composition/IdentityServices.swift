import LockstepAccounts
import LockstepHTTP
import LockstepHTTPClient
import LockstepIdentity
import LockstepLogging
import LockstepThreading
import LockstepTime

/// Verifies tokens of other issuers, whose keys it fetches.
final class IdentityServices: Sendable {
  let sessions: IdentitySessions
  private let verifier: TokenVerifier
  private let client: HTTPClient
  private let tasks: TaskScope
  private let report: LockedState<(@Sendable (KeyEvent) -> Void)?>

  /// Throws if libcurl or libcrypto is not available.
  init(
    _ issuers: [TrustedIssuer],
    _ accounts: StoredAccounts,
    _ times: OutgoingTimes,
    time: TimeSource
  ) throws {
    let report = LockedState<(@Sendable (KeyEvent) -> Void)?>(nil)
    self.report = report
    client = try HTTPClient(.forKeys(userAgent: "lockstep/\(lockstepVersion)", timeOut: times.issuer))
    tasks = TaskScope()
    do {
      verifier = try TokenVerifier(issuers, source: client, tasks: tasks, time: time) { event in
        report.withLock { $0 }?(event)
      }
    } catch {
      client.shutDown()
      throw error
    }
    sessions = IdentitySessions(accounts, verifier)
  }

  /// Logs what happens to the keys of issuers.
  func log(to logger: Logger) {
    report.withLock { report in
      report = { event in
        switch event {
        case .fetched(_, let keys, let skipped) where keys > 0 && skipped.isEmpty: logger.log(.info, "\(event)")
        default: logger.log(.warning, "\(event)")
        }
      }
    }
  }

  var statuses: [IssuerStatus] { verifier.statuses }

  /// Fetches the keys of all issuers.
  func fetchKeys() async { await verifier.fetchKeys() }

  func shutDown() {
    client.shutDown()
    tasks.shutDown()
  }
}
