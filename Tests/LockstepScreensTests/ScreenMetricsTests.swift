import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Metrics of screens", .timeLimit(.minutes(10)))
struct ScreenFiguresTests {
  @Test("They count open screens, opened screens by kind, and ended screens by reason")
  func figures() async throws {
    try await ServerFixture.run { users in
      let (phone, tablet) = (try await users.signUp(), try await users.logIn())
      let closed = try await phone.open("favoritesTop")
      _ = try await phone.open("favoritesTop")
      for _ in 0..<2 { _ = try await tablet.open("workingHistory") }
      _ = try await closed.ask("DELETE", closed.href)
      _ = try await closed.ask("DELETE", closed.href)
      _ = try await phone.delete("/v1/sessions/\(tablet.session)")
      users.advance(by: 16 * 60)
      _ = try await users.open("/v1/reactors/login", token: nil)
      let lines = try await users.ask("GET", "/metrics").text.split(separator: "\n").filter {
        $0.hasPrefix("lockstep_screen")
      }
      #expect(
        lines == [
          "lockstep_screens 1", #"lockstep_screens_opened_total{screen="favoritesTop"} 2"#,
          #"lockstep_screens_opened_total{screen="login"} 1"#,
          #"lockstep_screens_opened_total{screen="workingHistory"} 2"#,
          #"lockstep_screen_failures_total{screen="favoritesTop"} 0"#,
          #"lockstep_screen_failures_total{screen="login"} 0"#,
          #"lockstep_screen_failures_total{screen="workingHistory"} 0"#,
          #"lockstep_screens_ended_total{reason="closed"} 1"#, #"lockstep_screens_ended_total{reason="idle"} 1"#,
          #"lockstep_screens_ended_total{reason="session"} 2"#, #"lockstep_screens_ended_total{reason="server"} 0"#,
        ]
      )
    }
  }
}
