import LockstepCollections
import LockstepStore
import LockstepTime

/// The parts that all ledgers of a server share.
package struct LedgerEnvironment: Sendable {
  let writer: StoreWriter
  /// The idempotency keys of requests that run.
  let inFlightKeys = InFlightKeys()
  let eras: EraSource
  package let now: @Sendable () -> Timestamp
  let observer: any CommitObserver

  package init(
    writer: StoreWriter,
    eras: EraSource,
    now: @escaping @Sendable () -> Timestamp,
    observer: any CommitObserver
  ) {
    (self.writer, self.eras, self.now, self.observer) = (writer, eras, now, observer)
  }
}
