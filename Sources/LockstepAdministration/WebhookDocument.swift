import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepRoutes
import LockstepScreens
import LockstepStore
import LockstepTime
import LockstepWebhooks

/// A webhook for administrators, without its secret.
struct WebhookDocument: Sendable {
  let record: WebhookRecord
  let queued: Int
  let oldest: Timestamp?

  init(_ record: WebhookRecord, in connection: StoreConnection) throws {
    self.record = record
    (queued, oldest) = try DeliveryRecords(connection: connection)
      .backlog(of: record.id, limit: DeliveryWorker.mostCounted)
  }

  /// The tag does not depend on the members that change without a write. A new secret changes it,
  /// but nothing in it can be compared with a guess of the secret.
  var document: PrivateDocument {
    PrivateDocument(
      Self.format.encode(self),
      passingOver: ["failingSince", "pausedUntil", "queued", "oldestQueuedAt"],
      hidden: record.secretNumber
    )
  }

  static let format = ValueFormat<WebhookDocument>(
    .member("name", .text, \.record.name),
    .member("url", .text, \.record.url),
    .member("events", .list(of: .text(oneOf: eventNames))) { $0.record.events.map(\.rawValue) },
    .member("createdAt", .time, \.record.createdAt),
    .optional("failingSince", .time, \.record.failingSince),
    .optional("disabledAt", .time, \.record.disabledAt),
    .optional("pausedUntil", .time, \.record.pausedUntil),
    .member("queued", .count, \.queued),
    .optional("oldestQueuedAt", .time, \.oldest)
  )
  static let eventNames = WebhookEventType.ofWebhooks.map(\.rawValue)
}

extension DeliveryListing {
  static let format = ValueFormat<DeliveryListing>(
    .member("id", .uuid) { "\($0.id)" },
    .member("type", .text, \.type),
    .member("user", .uuid) { "\($0.user)" },
    .member("createdAt", .time, \.createdAt),
    .member("status", .text(oneOf: DeliveryStatus.allCases.map(\.name))) { $0.status.name },
    .member("attempts", .count, \.attempts),
    .optional("attemptedAt", .time, \.attemptedAt),
    .optional("lastStatus", .count, \.lastStatus),
    .optional("lastError", .text, \.lastError),
    .optional("nextAt", .time, \.nextAt)
  )
}

extension DeliveryStatus {
  var name: String { "\(self)" }

  init?(name: String) {
    guard let status = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = status
  }
}

/// The body of a `PUT` of a webhook.
struct WebhookBody: Sendable {
  let url: String
  let events: [WebhookEventType]
  let secret: WebhookSecret?

  /// Throws `validation-failed` with every fault.
  init(_ json: JSON, name: String, refusesHost: (String) -> Bool) throws {
    var reader = PayloadReader(json)
    // A client may send back what it has read.
    reader.passOver("createdAt", "failingSince", "disabledAt", "pausedUntil", "queued", "oldestQueuedAt")
    if let given = reader.value("name"), given != .string(name) {
      reader.add("name", "It must be the name in the path, or be left out.")
    }
    url = Self.url(&reader, refusesHost)
    events = Self.events(&reader)
    secret = Self.secret(&reader)
    try reader.finishProblem()
  }

  private static func url(_ reader: inout PayloadReader, _ refusesHost: (String) -> Bool) -> String {
    guard let text = reader.text("url") else { return "" }
    do throws(UpstreamURLError) {
      if refusesHost(try UpstreamURL(text).host) {
        reader.add(
          "url",
          "It must not have a private or loopback address. The operator can permit these with --webhook-allow-private."
        )
      }
    } catch {
      reader.add("url", "It \(error.reason).")
    }
    if text.contains("@") {
      reader.add(
        "url",
        "It must not contain a user, a password or the character @. Write %40 for @. To recognise the server, verify "
          + "the signature."
      )
    }
    return text
  }

  private static func events(_ reader: inout PayloadReader) -> [WebhookEventType] {
    guard let value = reader.required("events") else { return [] }
    let names = WebhookDocument.eventNames.joined(separator: ", ")
    guard let list = value.arrayValue, !list.isEmpty else {
      reader.add("events", "It must be an array with at least one of \(names).")
      return []
    }
    var events: Set<WebhookEventType> = []
    for (index, element) in list.prefix(100).enumerated() {
      guard let type = WebhookEventType.ofWebhooks.first(where: { element.stringValue == $0.rawValue }) else {
        reader.add(["events", "\(index)"], "It must be one of \(names).")
        continue
      }
      events.insert(type)
    }
    if list.count > 100 { reader.add("events", "It must have at most 100 elements.") }
    return WebhookEventType.ofWebhooks.filter(events.contains)
  }

  private static func secret(_ reader: inout PayloadReader) -> WebhookSecret? {
    guard let text = reader.nullableText("secret") else { return nil }
    do throws(WebhookSecretError) {
      return try WebhookSecret(text)
    } catch {
      reader.add("secret", error.description)
      return nil
    }
  }

  /// The fault of a webhook's name, or nil if it is valid.
  static func fault(ofName name: String) -> String? {
    let letters = "abcdefghijklmnopqrstuvwxyz"
    let others = letters + letters.uppercased() + "0123456789_-"
    let isPlain = name.utf8.allSatisfy(others.utf8.contains)
    if isPlain, let first = name.utf8.first, letters.utf8.contains(first), name.utf8.count <= 64 { return nil }
    return "A name is a lower-case letter a-z, then up to 63 of the characters A-Z a-z 0-9 _ -."
  }
}
