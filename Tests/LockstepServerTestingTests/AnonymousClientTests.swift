import LockstepClient
import LockstepReactorTesting
import LockstepServerTesting
import Testing

private struct Photo: Codable, Identifiable, Equatable, Sendable {
  let id: String
}

@Suite("A client without an account, which gets one later", .timeLimit(.minutes(10)))
struct AnonymousClientTests {
  @Test("An anonymous user keeps all data with the first credentials, and logs in on another device")
  func upgrade() throws {
    try ServerInProcess.run { server in
      let (first, second) = (try server.makeClient(), try server.makeClient())
      let (photos, seen) = (first.list(of: Photo.self), second.list(of: Photo.self))
      server.clock.start { await first.run() }
      server.clock.start { await second.run() }
      let failures = server.scheduler.createObserver(String.self)
      server.scheduler.run(until: nil) {
        do {
          try await first.signUpAnonymously(device: "phone")
          try await photos.add(Photo(id: "a"))
          try await first.setCredentials(email: "ada@example.com", password: "correct horse")
          try await second.logIn(email: "ada@example.com", password: "correct horse")
        } catch {
          failures.next("\(error)")
        }
        do {
          try await second.setCredentials(email: "eve@example.com", password: "correct horse")
        } catch let failure as ClientFailure {
          failures.next("\(failure.status ?? 0)")
        } catch {
          failures.next("\(error)")
        }
      }
      server.scheduler.advance(to: 200)
      let texts = failures.events.map { recorded in
        if case .next(let text) = recorded.event { text } else { "" }
      }
      #expect(texts == ["409"])
      #expect(seen.elements.map(\.id) == ["a"] && first.status.pending == 0)
    }
  }
}
