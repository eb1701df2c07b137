import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import LockstepTime
import Testing

@testable import LockstepComposition
@testable import LockstepWebhooks

/// Keeps the deliveries that arrive at a real receiver.
final class ReceivedDeliveries: Sendable {
  struct Delivery: Sendable {
    let id: String
    let type: String
    let data: JSON
    let isSigned: Bool
  }

  private let all = LockedState<[Delivery]>([])
  let secret = WebhookSecret.make()

  var deliveries: [Delivery] { all.withLock { $0 } }
  var types: [String] { deliveries.map(\.type) }

  /// Runs `body` with the URL of a receiver.
  func run(_ body: (String) async throws -> Void) async throws {
    try await LoopbackServer.run { [all, secret] request in
      let body = try await request.body.collect()
      let json = try JSON(parsing: body)
      let head = request.head
      let id = head["webhook-id"] ?? ""
      let time = Int64(head["webhook-timestamp"] ?? "") ?? 0
      let expected = WebhookMessage(id: id, body: body)
        .fields(at: Timestamp(millisecondsSince1970: time * 1_000), secrets: [secret])
      let isSigned = head["webhook-signature"]?.split(separator: " ").contains { $0 == expected[2].value } ?? false
      all.withLock {
        $0.append(
          Delivery(id: id, type: json["type"]?.stringValue ?? "", data: json["data"] ?? .null, isSigned: isSigned)
        )
      }
      return Response(status: .noContent)
    } _: { port in
      try await body("http://127.0.0.1:\(port)/")
    }
  }
}

extension ServerFixture {
  /// Lets the server look for deliveries, as it does once a second.
  func deliver() { running.withLock { $0?.services.users.delivery.worker.wake() } }

  /// Runs `body` with a server whose webhooks may have private addresses.
  static func withWebhooks(_ body: (ServerFixture) async throws -> Void) async throws {
    try await run(
      {
        $0.administratorToken = administrator
        $0.webhookAllowPrivate = true
      },
      body
    )
  }
}
