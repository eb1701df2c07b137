import LockstepCollections
import LockstepTime

/// The types of events.
package enum WebhookEventType: String, Sendable, CaseIterable {
  /// A revision of a user's state was committed.
  case stateChanged = "state.changed"
  case userCreated = "user.created"
  case userErased = "user.erased"
  /// A session was ended, other than by its expiry.
  case sessionEnded = "session.ended"
  case passwordReset = "password.reset"
  case emailProof = "email.proof"
  /// A user has got another address. Only a mail to the old address is sent about it.
  case emailChanged = "email.changed"

  /// The types that a webhook may be subscribed to.
  package static let ofWebhooks = allCases.filter { $0 != .emailChanged }

  /// For how long deliveries are tried, after the event.
  package var lifetime: Duration {
    switch self {
    case .stateChanged, .userCreated, .userErased, .sessionEnded: .seconds(3 * 86_400)
    // The tokens are valid for this long. A mail that cannot be sent delays the user's next mails.
    case .passwordReset, .emailProof, .emailChanged: .seconds(30 * 60)
    }
  }
}

/// Identifies a destination in the store: a webhook, or mail.
package struct WebhookID: Sendable, Hashable {
  package let number: Int

  package init(_ number: Int) { self.number = number }

  /// Mail, which is no webhook.
  package static let mail = WebhookID(-1)
}

/// A webhook as it is stored. It contains secrets.
package struct WebhookRecord: Sendable, Redacted {
  package let id: WebhookID
  package let name: String
  package let url: String
  package let events: [WebhookEventType]
  package let secret: String
  /// Counts the secrets that the webhook has had.
  package let secretNumber: Int
  /// The secret before the last change. It also signs until `until`.
  package let oldSecret: (text: String, until: Timestamp)?
  package let createdAt: Timestamp
  /// The first of the failures since the last success; nil if there is none.
  package let failingSince: Timestamp?
  /// Nil if it is enabled.
  package let disabledAt: Timestamp?
  /// The receiver has asked for no requests until then, with `Retry-After`.
  package let pausedUntil: Timestamp?

  package init(
    id: WebhookID,
    name: String,
    url: String,
    events: [WebhookEventType],
    secret: String,
    secretNumber: Int = 1,
    oldSecret: (text: String, until: Timestamp)? = nil,
    createdAt: Timestamp,
    failingSince: Timestamp? = nil,
    disabledAt: Timestamp? = nil,
    pausedUntil: Timestamp? = nil
  ) {
    (self.id, self.name, self.url, self.events) = (id, name, url, events)
    (self.secret, self.oldSecret, self.createdAt) = (secret, oldSecret, createdAt)
    (self.failingSince, self.disabledAt, self.pausedUntil) = (failingSince, disabledAt, pausedUntil)
    self.secretNumber = secretNumber
  }
}
