import LockstepCollections
import LockstepJSON
import LockstepTime

/// The subject of `WebhookEventID`.
package enum WebhookEventSubject {}

/// The id of an event, which its deliveries to all webhooks have, in `webhook-id`.
package typealias WebhookEventID = Identifier<WebhookEventSubject>

/// An event for webhooks.
package struct WebhookEvent: Sendable {
  package let id: WebhookEventID
  let type: WebhookEventType
  let user: UserID
  /// A JSON object.
  let data: String
  let at: Timestamp

  /// `members` are those of `data` after `user`.
  package init(_ type: WebhookEventType, of user: UserID, _ members: JSONObject = JSONObject(), at now: Timestamp) {
    var data: JSONObject = ["user": .string(user.description)]
    for (name, value) in members { data[name] = value }
    self.init(type, of: user, data: String(decoding: JSON.object(data).encoded(), as: UTF8.self), at: now)
  }

  private init(_ type: WebhookEventType, of user: UserID, data: String, at now: Timestamp) {
    id = WebhookEventID(
      UUIDv7(
        milliseconds: now.millisecondsSince1970,
        random12: .random(in: 0...0xFFF),
        random62: .random(in: 0 ... .max)
      )
    )
    (self.type, self.user, self.data, at) = (type, user, data, now)
  }

  /// The event that a transaction has changed a user's state; nil if it has not.
  init?(_ writes: WriteSet) {
    guard let last = writes.actions.last?.entry else { return nil }
    // A transaction rarely changes more than a few collections.
    var collections: [JSON] = []
    for (_, entry) in writes.actions {
      let name = JSON.string(entry.collection.description)
      if !collections.contains(name) { collections.append(name) }
    }
    let members: JSONObject = [
      "revision": .integer(Int64(last.revision.number)), "collections": .array(collections),
    ]
    self.init(.stateChanged, of: writes.user, members, at: last.at)
  }
}
