import LockstepStore
import LockstepTime

/// The metrics of the deliveries of this server since its start, and of the store.
package struct DeliveryMetrics: Sendable {
  package var delivered = 0
  /// Failed attempts whose deliveries are tried again.
  package var retried = 0
  /// Deliveries that are not tried again.
  package var failed = 0
  /// How many webhooks are disabled.
  package var disabled = 0
  /// How many deliveries are queued, mails too, at the last measurement, and the time of the oldest
  /// event.
  package var queued = 0
  package var oldest: Timestamp?
  /// Whether the store could not be read or written by the last pass.
  var isFailing = false
  /// When a delivery is due next, as far as is known.
  var nextTime: Timestamp?

  package init() {}

  mutating func count(_ results: [DeliveryResult]) {
    for result in results where result.counts {
      switch result.nextStep {
      case .delivered: delivered += 1
      case .retry: retried += 1
      case .failed: failed += 1
      }
    }
  }
}
