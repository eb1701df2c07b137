import LockstepCollections
import LockstepTime

/// The state of a delivery.
package enum DeliveryStatus: Int, Sendable, CaseIterable {
  case queued = 0
  case delivered = 1
  case failed = 2
}

/// A delivery whose next attempt this server may make while its claim is valid.
package struct ClaimedDelivery: Sendable {
  package let webhook: WebhookID
  package let user: UserID
  package let number: Int
  package let id: WebhookEventID
  package let type: String
  /// A JSON object.
  package let data: String
  package let createdAt: Timestamp
  /// How many attempts were made before.
  package let attempts: Int
  let claim: Int64
}

/// The result of an attempt, as it is recorded.
package struct DeliveryResult: Sendable {
  package enum NextStep: Sendable, Equatable {
    case delivered
    case retry(at: Timestamp)
    /// It is not tried again.
    case failed
  }

  package let delivery: ClaimedDelivery
  package let nextStep: NextStep
  /// The status of the response; nil if there was none.
  package let status: Int?
  /// Why there was no response.
  package let error: String?
  package let at: Timestamp
  /// Whether the attempt counts: one that this server has aborted does not.
  package let counts: Bool

  package init(
    _ delivery: ClaimedDelivery,
    _ nextStep: NextStep,
    status: Int?,
    error: String?,
    at now: Timestamp,
    counts: Bool = true
  ) {
    (self.delivery, self.nextStep, self.status, self.error, at) = (delivery, nextStep, status, error, now)
    self.counts = counts
  }

  var stored: DeliveryStatus {
    switch nextStep {
    case .delivered: .delivered
    case .retry: .queued
    case .failed: .failed
    }
  }
}

/// A delivery for administrators.
package struct DeliveryListing: Sendable {
  package let number: Int
  package let id: WebhookEventID
  package let user: UserID
  package let type: String
  package let createdAt: Timestamp
  package let status: DeliveryStatus
  package let attempts: Int
  package let attemptedAt: Timestamp?
  package let lastStatus: Int?
  package let lastError: String?
  /// The time of the next attempt. Nil unless it is the user's next delivery.
  package let nextAt: Timestamp?
}
