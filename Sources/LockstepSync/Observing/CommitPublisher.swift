import LockstepAccounts
import LockstepCollections
import LockstepThreading

/// Passes each commit on to all observers, in the order in which they were added.
package final class CommitPublisher: CommitObserver {
  private let observers = LockedState<[any CommitObserver]>([])

  package init() {}

  /// Adds observers, which may refer to this publisher until `shutDown()`. Add them before the first request.
  package func add(_ added: any CommitObserver...) { observers.withLock { $0 += added } }

  /// Releases all observers. They may refer to the parts that refer to this publisher.
  package func shutDown() { observers.withLock { $0 = [] } }

  package func stateCommitted(_ state: UserState, of user: UserID) {
    for observer in all { observer.stateCommitted(state, of: user) }
  }

  package func stateForgotten(of user: UserID) {
    for observer in all { observer.stateForgotten(of: user) }
  }

  package func registeredDefaultsCommitted(_ registered: RegisteredDefaults) {
    for observer in all { observer.registeredDefaultsCommitted(registered) }
  }

  package func everythingChanged() {
    for observer in all { observer.everythingChanged() }
  }

  package func journalMayHaveGrown() {
    for observer in all { observer.journalMayHaveGrown() }
  }

  package func accountsCommitted() {
    for observer in all { observer.accountsCommitted() }
  }

  package func sessionsEnded(_ sessions: [SessionID], of users: Set<UserID>) {
    for observer in all { observer.sessionsEnded(sessions, of: users) }
  }

  package func serviceTokenDeleted() {
    for observer in all { observer.serviceTokenDeleted() }
  }

  private var all: [any CommitObserver] { observers.withLock { $0 } }
}
