import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepStateTestSupport
@testable import LockstepWebhooks

/// A server whose mails go to a webhook.
struct MailFixture: Sendable {
  let users: ServerFixture
  let receiver: ReceivedDeliveries

  static func run(
    _ events: [String] = ["password.reset", "email.proof"],
    _ change: (inout Configuration) -> Void = { _ in },
    _ body: (MailFixture) async throws -> Void
  ) async throws {
    let receiver = ReceivedDeliveries()
    try await receiver.run { url in
      try await ServerFixture.run {
        $0.administratorToken = ServerFixture.administrator
        $0.webhookAllowPrivate = true
        change(&$0)
      } _: { users in
        let list = events.map { "\"\($0)\"" }.joined(separator: ",")
        let webhook = #"{"url":"\#(url)","events":[\#(list)],"secret":"\#(receiver.secret.text)"}"#
        #expect(try await users.admin.put("/v1/admin/webhooks/mailer", webhook).status == 201)
        try await body(MailFixture(users: users, receiver: receiver))
      }
    }
  }

  /// Asks for a mail to reset the password.
  @discardableResult
  func ask(_ email: String = "ada@example.com", _ fields: [String] = []) async throws -> RawResponse {
    let response = try await users.post("/v1/password-resets", #"{"email":"\#(email)"}"#, fields)
    #expect(response.status == 202 && response.body.isEmpty, "\(response.text)")
    await settle()
    return response
  }

  @discardableResult
  func askForProof(
    _ email: String,
    of device: Device,
    password: String = ServerFixture.password,
    _ fields: [String] = []
  ) async throws -> RawResponse {
    let body = #"{"email":"\#(email)","password":"\#(password)"}"#
    let response = try await device.put("/v1/me/email", body, fields)
    await settle()
    return response
  }

  /// Waits until the server has done what clients have asked for.
  func settle() async {
    await eventually { users.running.withLock { $0?.services.users.delivery.mail.queue.isIdle } ?? true }
  }

  /// The events of a type, once there are this many and no attempt runs.
  ///
  /// The receiver has a delivery before the attempt ends. If a test moved the clock past the end of
  /// the claim between the two, the delivery would be sent again.
  func events(_ count: Int, of type: String = "password.reset") async -> [JSON] {
    await eventually {
      users.deliver()
      return receiver.deliveries.count { $0.type == type } >= count && !isDelivering
    }
    let events = receiver.deliveries.filter { $0.type == type }
    #expect(events.count == count && events.allSatisfy(\.isSigned))
    return events.map(\.data)
  }

  private var isDelivering: Bool {
    users.running.withLock { $0?.services.users.delivery.worker.contents.withLock { $0.running > 0 } } ?? false
  }

  /// The token in the last of this many events.
  func token(_ count: Int = 1, of type: String = "password.reset") async throws -> String {
    try #require(await events(count, of: type).last?["token"]?.stringValue)
  }

  func reset(_ token: String, to password: String, _ fields: [String] = []) async throws -> RawResponse {
    let body = Array(#"{"password":"\#(password)"}"#.utf8)
    return try await users.ask("PUT", "/v1/password-resets/\(token)", fields, body: body)
  }

  func prove(_ token: String, _ fields: [String] = []) async throws -> RawResponse {
    try await users.ask("POST", "/v1/email-proofs/\(token)", fields)
  }

  func links() async throws -> Int { try await users.count("mail_links") }
}
