import LockstepJSON
import LockstepTime

/// A write that the server has not confirmed, or has refused.
struct OutboxEntry: Sendable, Equatable {
  /// The place in the outbox. A later write has a higher number.
  var number: Int64
  /// The value of `Idempotency-Key`. A write that was merged after a conflict gets a new one.
  var key: String
  /// When the app made the write.
  let at: Timestamp
  /// The process that made the write. Nil only in tests.
  var process: String?
  var actions: [ClientAction]
  /// The state that the write is based on, if it must not overwrite a later one.
  var base: ChangesDocument.Position?
  /// When the client first sent the write with its key, by the clock of the server. `unknownTime`: no response has had a
  /// time yet. Nil: the client has not sent it.
  var sentAt: Timestamp?
  /// The latest state that the client knew when it first sent the write.
  var sentFrom: ChangesDocument.Position?
  /// Whether the server may have forgotten the first key. Then the client sends the write with a new key, on the
  /// condition that the elements, keys or objects that it names have not changed since `sentFrom`.
  var isInDoubt = false
  /// The position of the response.
  var confirmed: ChangesDocument.Position?
  /// Whether the confirmed write has changed nothing. Then `confirmed` may be the position of another device's change.
  var hasChangedNothing = false
  /// Whether the copy includes the write.
  var isIncluded = false
  var refusal: ClientFailure?

  /// Whether the write is to be sent.
  var isWaiting: Bool { confirmed == nil && refusal == nil }

  /// Whether the write is shown on top of the copy.
  var isShown: Bool { refusal == nil && !isIncluded }

  /// The state of a write that was sent without getting a response.
  enum Doubt: Equatable {
    /// The server has applied the write.
    case applied
    /// The server still knows the key, and applies the write at most once if it gets it again.
    case hasKey
    /// The server may have forgotten the key.
    case hasNoKey
  }

  /// How long the client sends a write again with its key. The server keeps the key for a day. The difference of an
  /// hour is for slow requests.
  static let keyLifetime = Duration.seconds(23 * 3600)
  /// The time of a request that was sent before the client knew the time of the server.
  static let unknownTime = Timestamp(millisecondsSince1970: 0)
  /// The greatest difference between the clocks of two servers, such as two nodes.
  private static let tolerance = Duration.seconds(300)

  /// Decides about a write in doubt. Call this after a response of the feed to a request that was sent after the write.
  /// `now` is the time of the server; nil if no response has had a time yet. The clock of the device does not matter.
  func doubt(at now: Timestamp?) -> Doubt {
    if isIncluded { return .applied }
    return isKeyKnown(at: now) ? .hasKey : .hasNoKey
  }

  /// Whether it is certain that the server still knows the key, or that the client has not sent the write yet. If one
  /// of the two times is unknown, it is not certain.
  func isKeyKnown(at now: Timestamp?) -> Bool {
    guard let sentAt else { return true }
    guard let now, sentAt != Self.unknownTime else { return false }
    let age = Duration.milliseconds(now.milliseconds(since: sentAt))
    // A time in the future is from a clock that was wrong, so the true age is unknown.
    return age >= .zero - Self.tolerance && age <= Self.keyLifetime
  }

  /// Whether this is a refused write that the app knows. Another client may have a write with its number.
  func isRefused(as write: RefusedWrite) -> Bool { refusal != nil && actions.map(\.json) == write.actions }
}

extension OutboxEntry {
  /// The JSON form in the store. The number is a column of its own.
  var json: JSON {
    var object: JSONObject = [
      "key": .string(key), "at": .integer(at.millisecondsSince1970), "actions": .array(actions.map(\.json)),
    ]
    if let base { object["base"] = base.json }
    if let sentAt { object["sentAt"] = .integer(sentAt.millisecondsSince1970) }
    if let sentFrom { object["sentFrom"] = sentFrom.json }
    if isInDoubt { object["isInDoubt"] = true }
    if let confirmed { object["confirmed"] = confirmed.json }
    if hasChangedNothing { object["hasChangedNothing"] = true }
    if isIncluded { object["isIncluded"] = true }
    if let process { object["process"] = .string(process) }
    if let refusal { object["refusal"] = refusal.json }
    return .object(object)
  }

  /// Reads the JSON form. Nil for anything else.
  init?(_ json: JSON, number: Int64) {
    guard let key = json["key"]?.stringValue, let at = json["at"]?.intValue, let actions = json["actions"]?.arrayValue
    else { return nil }
    self.number = number
    self.key = key
    self.at = Timestamp(millisecondsSince1970: Int64(at))
    self.actions = actions.compactMap { ClientAction($0) }
    guard self.actions.count == actions.count else { return nil }
    base = json["base"].flatMap { ChangesDocument.Position($0) }
    sentAt = json["sentAt"]?.intValue.map { Timestamp(millisecondsSince1970: Int64($0)) }
    sentFrom = json["sentFrom"].flatMap { ChangesDocument.Position($0) }
    isInDoubt = json["isInDoubt"]?.boolValue ?? false
    confirmed = json["confirmed"].flatMap { ChangesDocument.Position($0) }
    hasChangedNothing = json["hasChangedNothing"]?.boolValue ?? false
    isIncluded = json["isIncluded"]?.boolValue ?? false
    refusal = json["refusal"].map { ClientFailure(stored: $0) }
    process = json["process"]?.stringValue
  }

  /// A new write.
  init(number: Int64, key: String, at: Timestamp, actions: [ClientAction]) {
    (self.number, self.key, self.at, self.actions) = (number, key, at, actions)
  }
}

extension ChangesDocument.Position {
  var json: JSON { ["cursor": .string(cursor), "revision": JSON(revision)] }

  init?(_ json: JSON) {
    guard let cursor = json["cursor"]?.stringValue, let revision = json["revision"]?.intValue else { return nil }
    self.init(cursor: cursor, revision: revision)
  }
}
