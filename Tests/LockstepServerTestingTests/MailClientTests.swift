import LockstepClient
import LockstepComposition
import LockstepMail
import LockstepReactorTesting
import LockstepServerTesting
import Testing

@Suite("A client asks the server for mails", .timeLimit(.minutes(10)))
struct MailClientTests {
  /// The statuses of failures; 0 for a success.
  private static func statuses(
    _ mail: MailConfiguration,
    _ calls: @escaping @Sendable (LockstepClient) async -> [@Sendable () async throws -> Void]
  ) throws -> [Int] {
    try ServerInProcess.run(configure: { $0.mail = mail }) { server in
      let client = try server.makeClient()
      let statuses = server.scheduler.createObserver(Int.self)
      server.scheduler.run(until: nil) {
        for call in await calls(client) {
          do {
            try await call()
            statuses.next(0)
          } catch {
            statuses.next((error as? ClientFailure)?.status ?? -1)
          }
        }
      }
      server.scheduler.advance(to: 200)
      return statuses.events.compactMap { recorded in
        if case .next(let status) = recorded.event { status } else { nil }
      }
    }
  }

  private static let calls: @Sendable (LockstepClient) async -> [@Sendable () async throws -> Void] = { client in
    [
      { try await client.requestEmailProof("new@example.com", password: "correct horse") },
      { try await client.signUp(email: "ada@example.com", password: "correct horse") },
      { try await client.requestPasswordReset(email: "ada@example.com") },
      { try await client.requestPasswordReset(email: "unknown@example.com") },
      { try await client.requestEmailProof("new@example.com", password: "wrong horse") },
      { try await client.requestEmailProof("new@example.com", password: "correct horse") },
    ]
  }

  @Test("The calls succeed whether or not a mail is sent, and a wrong password or a missing login is a failure")
  func calls() throws {
    var mail = MailConfiguration()
    mail.relay = try MailRelay("smtp://127.0.0.1:9")
    mail.sender = try MailSender("notes@example.com")
    mail.publicURL = try PublicURL("https://notes.example.com")
    #expect(try Self.statuses(mail, Self.calls) == [-1, 0, 0, 0, 403, 0])
  }

  @Test("Without mail, the calls fail with 404")
  func withoutMail() throws {
    #expect(try Self.statuses(MailConfiguration(), Self.calls) == [-1, 0, 404, 404, 404, 404])
  }
}
