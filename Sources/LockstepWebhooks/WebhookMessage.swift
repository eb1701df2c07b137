import LockstepJSON
import LockstepTime

/// A message to a receiver of webhooks (Standard Webhooks).
package struct WebhookMessage: Sendable, Equatable {
  /// The same for all attempts, so that a receiver can drop what it has already. It contains no
  /// dot, because dots separate the parts that are signed.
  package let id: String
  package let body: [UInt8]

  /// `body` is that of `body(type:at:data:)`, perhaps read from a store.
  package init(id: String, body: [UInt8]) {
    self.id = id
    self.body = body
  }

  /// The JSON of a message: `{"type", "timestamp", "data"}`. `time` is that of the event.
  package static func body(type: String, at time: Timestamp, data: JSONObject) -> [UInt8] {
    let body: JSON = ["type": .string(type), "timestamp": .string(time.description), "data": .object(data)]
    return body.encoded()
  }

  /// The header fields of an attempt. While a secret is being replaced, both secrets sign, the
  /// newer one first, and the receiver accepts either signature.
  package func fields(at time: Timestamp, secrets: [WebhookSecret]) -> [(name: String, value: String)] {
    let seconds = time.millisecondsSince1970 / 1000
    return [
      ("webhook-id", id), ("webhook-timestamp", String(seconds)),
      ("webhook-signature", signatures(at: seconds, secrets: secrets)),
    ]
  }

  private func signatures(at seconds: Int64, secrets: [WebhookSecret]) -> String {
    let message = Array("\(id).\(seconds).".utf8) + body
    return secrets.map { "v1," + Base64.text($0.authenticationCode(of: message)) }.joined(separator: " ")
  }
}
