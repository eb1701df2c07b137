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

/// The result of sending a delivery once.
package struct AttemptOutcome: Sendable, Equatable {
  package let outcome: WebhookOutcome
  /// The status of the response; nil if there was none.
  package let status: Int?
  /// Why there was no response.
  package let error: String?
  /// Whether this server has aborted the attempt, because it stops.
  package let isAborted: Bool

  package init(_ outcome: WebhookOutcome, status: Int? = nil, error: String? = nil, isAborted: Bool = false) {
    (self.outcome, self.status, self.error, self.isAborted) = (outcome, status, error, isAborted)
  }
}

/// Sends deliveries to one kind of destination. It returns after a bounded time, well below
/// `DeliveryWorker.lease`.
package protocol DeliverySender: Sendable {
  nonisolated(nonsending) func send(_ delivery: OutgoingDelivery) async -> AttemptOutcome
}
