import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite(
  "Mails on a fleet",
  .enabled("LOCKSTEP_TEST_POSTGRESQL names no PostgreSQL server") { TestedStore.anyServer != nil },
  .timeLimit(.minutes(10))
)
struct FleetMailTests {
  @Test("A link that one server has sent resets the password at another, once, and ends the sessions at all of them")
  func reset() async throws {
    let receiver = ReceivedDeliveries()
    try await receiver.run { url in
      try await TestDatabase.serve(nodes: 2) {
        $1.administratorToken = ServerFixture.administrator
        $1.webhookAllowPrivate = true
        $1.accounts.attempts.mailsPerAddress = RateLimit(requests: 1, seconds: 600, burst: 2)
      } _: { servers, _ in
        let mails = servers.map { MailFixture(users: $0, receiver: receiver) }
        let ada = try await servers[0].signUp()
        let elsewhere = ada.at(servers[1])
        #expect(try await elsewhere.get("/v1/me").status == 200)
        let webhook =
          #"{"url":"\#(url)","events":["password.reset","email.proof"],"secret":"\#(receiver.secret.text)"}"#
        #expect(try await servers[0].admin.put("/v1/admin/webhooks/mailer", webhook).status == 201)
        // The servers count together.
        for number in 0..<6 { try await mails[number % 2].ask() }
        let tokens = await mails[0].events(2).compactMap { $0["token"]?.stringValue }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
          for (number, mail) in mails.enumerated() {
            group.addTask { try await mail.reset(tokens[0], to: "battery staple \(number)").status }
          }
          return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.sorted() == [204, 404])
        #expect(try await mails[1].reset(tokens[1], to: "another password").status == 404)
        for device in [ada, elsewhere] {
          try await eventually { try await device.get("/v1/me").status == 401 }
        }
      }
    }
  }
}
