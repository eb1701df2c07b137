import Foundation
import LockstepTime
import Testing

@testable import LockstepClient

@Suite("The states of a connection", .timeLimit(.minutes(10)))
struct ConnectionStateTests {
  private static let failure = ClientFailure("none")
  private static let events: [(String, ConnectionEvent)] = [
    ("start", .start), ("stop", .stop), ("response", .response),
    ("noResponse", .noResponse(retryAt: Timestamp(millisecondsSince1970: 0), failure)), ("time", .time),
    ("wake", .wake), ("visible", .visible), ("unauthorized", .unauthorized(failure)), ("refused", .refused(failure)),
    ("login", .login),
  ]

  @Test("All states and events do the same as in lockstep.js")
  func table() throws {
    let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let guide = try String(contentsOf: repository.appendingPathComponent("docs/web.md"), encoding: .utf8)
    let phases = ConnectionState.Phase.allCases
    let head = "| event | \(phases.map { "`\($0.rawValue)`" }.joined(separator: " | ")) |"
    let rows = Self.events.map { name, event in
      let cells = phases.map { phase -> String in
        let (next, commands) = ConnectionState(phase: phase).next(after: event)
        return commands.isEmpty
          ? "–" : "\(next.phase.rawValue): \(commands.map(\.rawValue).joined(separator: ", "))"
      }
      return "| `\(name)` | \(cells.joined(separator: " | ")) |"
    }
    #expect(guide.contains(head))
    for row in rows { #expect(guide.contains(row), "\(row)") }
  }

  @Test("Attempts are counted until a response arrives")
  func attempts() {
    var state = ConnectionState().next(after: .start).0
    for number in 1...3 {
      state = state.next(after: Self.events[3].1).0
      #expect(state.attempt == number && state.phase == .offline)
      state = state.next(after: .time).0
    }
    #expect(state.next(after: .response).0.attempt == 0)
  }
}
