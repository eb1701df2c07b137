import LockstepJSON
import LockstepStore
import LockstepTime

/// A delivery, as it is sent.
package struct OutgoingDelivery: Sendable {
  package let delivery: ClaimedDelivery
  /// The members of the event's `data`, with those that are not in the store.
  package let data: JSONObject
  /// Nil for a destination that is no webhook.
  package let webhook: WebhookRecord?
  package let at: Timestamp
}

/// Sends deliveries to one kind of destination. It returns after a bounded time, well below
/// `DeliveryWorker.claimDuration`.
package protocol DeliverySender: Sendable {
  nonisolated(nonsending) func send(_ delivery: OutgoingDelivery) async -> AttemptOutcome
}
