import LockstepBuiltInScreens
import LockstepClient
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepServerTesting
import Testing

@Suite("The screen workingHistory in time", .timeLimit(.minutes(10)))
struct WorkingHistoryTimeTests {
  typealias Form = RemoteScreen<WorkingHistoryAction, WorkingHistory>

  private static let restore: @Sendable (WorkingHistory, WorkingHistory) -> [WorkingHistoryAction] = { last, _ in
    [.setCompanyName(last.companyName), .setPosition(last.position)]
  }

  /// Opens the form at 0, and types at 50.
  private func open(_ server: ServerInProcess, restoring: Bool = false) throws -> (Form, TestObserver<String>) {
    let client = try server.makeClient(for: "ada@example.com")
    let form = client.screen(
      "workingHistory",
      initially: WorkingHistory(),
      actions: WorkingHistoryAction.self,
      restoring: restoring ? Self.restore : nil
    )
    let rows = server.scheduler.observe(form.states.distinct(\.row), from: 0, until: nil)
    server.scheduler.run(until: 5_000) { await form.run() }
    server.scheduler.scheduleAt(50) {
      form.send(.setCompanyName("Aurora"))
      form.send(.setPosition("Chief"))
    }
    return (form, rows)
  }

  private func answer(_ form: Form, _ choice: String) {
    guard let prompt = form.currentState.prompt else { return }
    form.send(.answer(prompt.id, choice))
  }

  private func profile(_ server: ServerInProcess) throws -> JSON {
    let token = try server.token(of: "ada@example.com")
    return try JSON(parsing: try server.send("GET", "/v1/profile", token: token).body)
  }

  @Test("A save fails, is tried again, and succeeds")
  func retry() throws {
    try ServerInProcess.run { server in
      server.upstream.respond(at: 120, with: .failure(.unreachable))
      server.upstream.respond(at: 170, with: .success)
      let (form, rows) = try open(server)
      server.scheduler.scheduleAt(100) { form.send(.save) }
      server.scheduler.scheduleAt(150) { answer(form, "retry") }
      server.scheduler.advance(to: 300)
      #expect(
        rows.events == [
          .next(0, "editing"), .next(100, "saving"), .next(120, "prompt: Try again or Cancel"), .next(150, "saving"),
          .next(170, "saved 1"),
        ]
      )
      #expect(server.upstream.profiles.map(\.time) == [100, 150])
      #expect(try profile(server) == ["companyName": "Aurora", "position": "Chief"])
    }
  }

  @Test("A save that is cancelled changes nothing")
  func cancel() throws {
    try ServerInProcess.run { server in
      server.upstream.respond(at: 120, with: .failure(.timedOut))
      let (form, rows) = try open(server)
      server.scheduler.scheduleAt(100) { form.send(.save) }
      server.scheduler.scheduleAt(150) { answer(form, "cancel") }
      server.scheduler.advance(to: 300)
      #expect(
        rows.events == [
          .next(0, "editing"), .next(100, "saving"), .next(120, "prompt: Try again or Cancel"), .next(150, "editing"),
        ]
      )
      #expect(try profile(server) == [:])
    }
  }

  @Test("A failure that cannot pass offers no retry")
  func permanentFailure() throws {
    try ServerInProcess.run { server in
      server.upstream.respond(at: 120, with: .failure(.refused(status: 422)))
      let (form, rows) = try open(server)
      server.scheduler.scheduleAt(100) { form.send(.save) }
      server.scheduler.advance(to: 200)
      #expect(rows.events == [.next(0, "editing"), .next(100, "saving"), .next(120, "prompt: Cancel")])
    }
  }

  @Test("The texts that the upstream has accepted are saved, and a retry sends the same key")
  func accepted() throws {
    try ServerInProcess.run { server in
      server.upstream.respond(at: 120, with: .failure(.timedOut))
      server.upstream.respond(at: 160, with: .accepted(AcceptedProfile(companyName: "Aurora Ltd")))
      let (form, _) = try open(server)
      server.scheduler.scheduleAt(100) { form.send(.save) }
      server.scheduler.scheduleAt(150) { answer(form, "retry") }
      server.scheduler.advance(to: 200)
      #expect(form.currentState.companyName == "Aurora Ltd")
      #expect(try profile(server) == ["companyName": "Aurora Ltd", "position": "Chief"])
      let keys = server.upstream.profiles.map { row in
        if case .next(let profile) = row.event { profile.idempotencyKey } else { "" }
      }
      #expect(keys.count == 2 && keys[0] == keys[1])
    }
  }

  @Test("Each prompt fires once, also for a client that was offline")
  func promptPulses() throws {
    try ServerInProcess.run { server in
      for time in [110, 160, 260] { server.upstream.respond(at: time, with: .failure(.unreachable)) }
      let (form, _) = try open(server)
      let prompts = server.scheduler.createObserver(String.self)
      server.scheduler.run(until: 1_000) {
        for await prompt in form.pulses(\.prompt) { prompts.next("\(prompt.value.id), missed \(prompt.missed)") }
      }
      server.scheduler.scheduleAt(100) { form.send(.save) }
      server.scheduler.scheduleAt(120) { form.send(.setPosition("Captain")) }
      server.scheduler.scheduleAt(150) { answer(form, "retry") }
      server.scheduler.scheduleAt(250) { answer(form, "retry") }
      server.scheduler.scheduleAt(255) { server.goOffline() }
      server.scheduler.scheduleAt(300) { server.goOnline() }
      server.scheduler.advance(to: 500)
      #expect(prompts.elements == ["1, missed 0", "2, missed 0", "3, missed 0"])
      #expect(prompts.events.prefix(2) == [.next(110, "1, missed 0"), .next(160, "2, missed 0")])
    }
  }

  @Test("A newer save cancels the one that waits for the upstream")
  func newest() throws {
    try ServerInProcess.run { server in
      server.upstream.respond(at: 500, with: .success)
      server.upstream.respond(at: 130, with: .success)
      let (form, rows) = try open(server)
      server.scheduler.scheduleAt(100) { form.send(.save) }
      server.scheduler.scheduleAt(110) {
        form.send(.setPosition("Captain"))
        form.send(.save)
      }
      server.scheduler.advance(to: 600)
      #expect(rows.events == [.next(0, "editing"), .next(100, "saving"), .next(130, "saved 1")])
      #expect(try profile(server) == ["companyName": "Aurora", "position": "Captain"])
    }
  }

  @Test("A client that was offline sees the prompt when it is back, and the save is sent once")
  func offline() throws {
    try ServerInProcess.run { server in
      server.upstream.respond(at: 120, with: .failure(.unreachable))
      server.upstream.respond(at: 300, with: .success)
      let (form, rows) = try open(server)
      server.scheduler.scheduleAt(100) {
        server.loseNextResponse()
        form.send(.save)
      }
      server.scheduler.scheduleAt(110) { server.goOffline() }
      server.scheduler.scheduleAt(200) { server.goOnline() }
      server.scheduler.scheduleAt(280) { answer(form, "retry") }
      server.scheduler.advance(to: 400)
      #expect(server.upstream.profiles.map(\.time) == [100, 280])
      #expect(rows.elements == ["editing", "saving", "prompt: Try again or Cancel", "saving", "saved 1"])
      #expect(rows.events.last == .next(300, "saved 1"))
    }
  }

  @Test("A screen ends 15 minutes after its last request, and typed text is restored")
  func expiry() throws {
    try ServerInProcess.run { server in
      server.upstream.respond(at: 1_250, with: .success)
      let (form, rows) = try open(server, restoring: true)
      server.scheduler.scheduleAt(100) { server.goOffline() }
      server.scheduler.scheduleAt(100 + 16 * 60) { server.goOnline() }
      server.scheduler.scheduleAt(1_200) { form.send(.save) }
      server.scheduler.advance(to: 1_300)
      #expect(form.status.openings == 2)
      #expect(rows.events == [.next(0, "editing"), .next(1_200, "saving"), .next(1_250, "saved 1")])
      #expect(try profile(server) == ["companyName": "Aurora", "position": "Chief"])
    }
  }

  @Test("A screen that was offline for 14 minutes goes on")
  func noExpiry() throws {
    try ServerInProcess.run { server in
      let (form, _) = try open(server)
      server.scheduler.scheduleAt(100) { server.goOffline() }
      server.scheduler.scheduleAt(100 + 13 * 60) { server.goOnline() }
      server.scheduler.advance(to: 1_000)
      #expect(form.status.openings == 1 && form.currentState.companyName == "Aurora")
    }
  }

  @Test("A server that starts again has lost the screen")
  func restart() throws {
    try ServerInProcess.run { server in
      let (form, _) = try open(server, restoring: true)
      server.scheduler.scheduleAt(100) { try? await server.restart() }
      server.scheduler.advance(to: 200)
      #expect(form.status.openings == 2 && form.status.connection == .live)
      #expect(form.currentState.companyName == "Aurora" && form.currentState.saveEnabled)
    }
  }

  @Test("The same table of times gives the same events a hundred times")
  func deterministic() throws {
    func record() throws -> String {
      try ServerInProcess.run { server in
        server.upstream.respond(at: 120, with: .failure(.unreachable))
        server.upstream.respond(at: 170, with: .success)
        let (form, rows) = try open(server)
        server.scheduler.scheduleAt(100) { form.send(.save) }
        server.scheduler.scheduleAt(150) { answer(form, "retry") }
        server.scheduler.advance(to: 200)
        let requests = server.requests.map { "\($0.time) \(Self.method($0.event))" }
        return "\(rows.events) \(requests)"
      }
    }
    let first = try record()
    for _ in 1...100 { #expect(try record() == first) }
  }

  private static func method(_ event: Event<ClientRequest>) -> String {
    if case .next(let request) = event { request.method } else { "" }
  }
}
