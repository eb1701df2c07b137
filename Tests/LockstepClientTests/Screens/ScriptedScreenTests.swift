import Foundation
import LockstepClient
import LockstepReactor
import LockstepReactorTesting
import Synchronization
import Testing

/// Responds to the requests for a screen as a script says: each response comes some time after its request. The last
/// one of a kind repeats.
private final class ScriptedTransport: ClientTransport {
  enum Kind: Hashable {
    case opening
    case poll
    case action
    case closing
  }

  struct Reply {
    let after: Duration
    let response: ClientResponse

    static func after(_ seconds: Int, _ response: ClientResponse) -> Reply {
      Reply(after: .seconds(seconds), response: response)
    }
  }

  private let clock: VirtualClock
  private let script: Mutex<[Kind: [Reply]]>
  private let sent = Mutex<[Kind: [String]]>([:])

  init(_ clock: VirtualClock, _ script: [Kind: [Reply]]) {
    self.clock = clock
    self.script = Mutex(script)
  }

  func count(_ kind: Kind) -> Int { keys(kind).count }

  /// The idempotency keys of the requests so far.
  func keys(_ kind: Kind) -> [String] { sent.withLock { $0[kind] ?? [] } }

  func response(to request: ClientRequest) async throws -> ClientResponse {
    let isAction = request.target.hasSuffix("/actions")
    let kind: Kind =
      switch request.method {
      case "POST": isAction ? .action : .opening
      case "GET": .poll
      default: .closing
      }
    sent.withLock { $0[kind, default: []].append(request.fields["Idempotency-Key"] ?? "") }
    let next = script.withLock { script -> Reply? in
      guard let replies = script[kind], let first = replies.first else { return nil }
      if replies.count > 1 { script[kind]?.removeFirst() }
      return first
    }
    try await clock.sleep(for: next?.after ?? .seconds(3_600))
    return next?.response ?? ClientResponse(status: 304)
  }
}

extension ClientResponse {
  fileprivate static func problem(_ status: Int) -> ClientResponse {
    ClientResponse(status: status, body: Array(#"{"type":"/problems/no","title":"No","status":\#(status)}"#.utf8))
  }

  fileprivate static func state(_ number: Int, name: String, status: Int = 200, route: Int? = nil) -> ClientResponse {
    let route = route.map { #","route":{"id":\#($0),"row":1}"# } ?? ""
    let state = #"{"name":"\#(name)","isSaving":false,"saved":[]\#(route)}"#
    let body = #"{"href":"/v1/reactors/form/1","cursor":"c.\#(number)","state":\#(state)}"#
    return ClientResponse(status: status, body: Array(body.utf8))
  }
}

@Suite("A remote screen and the order of responses", .timeLimit(.minutes(10)))
struct ScriptedScreenTests {
  typealias Screen = RemoteScreen<Form.Action, Form.State>

  private func start(_ script: [ScriptedTransport.Kind: [ScriptedTransport.Reply]]) throws -> (
    TestScheduler, ScriptedTransport, Screen, TestObserver<String>
  ) {
    let scheduler = TestScheduler()
    let clock = scheduler.clock
    let transport = ScriptedTransport(clock, script)
    let numbers = Numbers()
    let client = try LockstepClient(
      store: .memory,
      transport: transport,
      credentials: MemoryCredentials("token"),
      clock: clock,
      randomNumber: { .max / 2 + numbers.next() }
    )
    let screen: Screen = client.screen("form", initially: Form.State(name: "initial"))
    let names = scheduler.observe(screen.states.distinct(\.name), from: 0, until: nil)
    clock.start { await screen.run() }
    return (scheduler, transport, screen, names)
  }

  @Test("If the response to a poll is older than the response to an action, it is not shown")
  func latePoll() throws {
    let (scheduler, _, screen, names) = try start([
      .opening: [.after(1, .state(1, name: "opened", status: 201))],
      .poll: [.after(20, .state(2, name: "older")), .after(20, .state(4, name: "newest"))],
      .action: [.after(2, .state(3, name: "acted"))],
    ])
    scheduler.scheduleAt(10) { screen.send(.tap(1)) }
    scheduler.advance(to: 60)
    #expect(names.events == [.next(0, "initial"), .next(1, "opened"), .next(12, "acted"), .next(41, "newest")])
  }

  @Test("If the response to an action is older than the response to a poll, it is not shown")
  func lateAction() throws {
    let (scheduler, _, screen, names) = try start([
      .opening: [.after(1, .state(1, name: "opened", status: 201))],
      .poll: [.after(11, .state(3, name: "newer")), .after(20, .state(4, name: "newest"))],
      .action: [.after(9, .state(2, name: "older"))],
    ])
    scheduler.scheduleAt(10) { screen.send(.tap(1)) }
    scheduler.advance(to: 60)
    #expect(names.events == [.next(0, "initial"), .next(1, "opened"), .next(12, "newer"), .next(32, "newest")])
    #expect(screen.pending == 0)
  }

  @Test("If the server does not find the screens that it opens, the client pauses between its requests")
  func shortLives() throws {
    let (scheduler, transport, screen, _) = try start([
      .opening: [.after(0, .state(1, name: "opened", status: 201))],
      .poll: [.after(0, .problem(404))],
    ])
    scheduler.advance(to: 300)
    #expect(screen.status.connection == .offline)
    #expect((5...20).contains(transport.count(.opening)))
  }

  @Test("A state of another form than the app expects is a failure")
  func otherForm() throws {
    let (scheduler, transport, screen, names) = try start([
      .opening: [.after(0, ClientResponse(status: 201, body: Array(#"{"href":"/","cursor":"1","state":{}}"#.utf8)))]
    ])
    scheduler.advance(to: 300)
    #expect(screen.status.connection == .failed)
    #expect(screen.status.failure?.description.contains("does not have the form") == true)
    #expect(names.elements == ["initial"] && transport.count(.opening) == 1)
  }

  @Test("The client tries again when an overloaded server asks for it", arguments: [429, 503])
  func retryAfter(status: Int) throws {
    let (scheduler, transport, screen, _) = try start([
      .opening: [
        .after(0, ClientResponse(status: status, fields: ["Retry-After": "20"])),
        .after(0, .state(1, name: "opened", status: 201)),
      ]
    ])
    scheduler.advance(to: 19)
    #expect(screen.status.connection == .offline && transport.count(.opening) == 1)
    scheduler.advance(to: 20)
    #expect(screen.status.connection == .live && screen.currentState.name == "opened")
    // A server that has opened the screen all the same must not open a second one.
    #expect(Set(transport.keys(.opening)).count == 1)
  }

  @Test("An action that an ended screen has refused was certainly not performed")
  func certainlyNot() throws {
    let (scheduler, transport, screen, _) = try start([
      .opening: [.after(0, .state(1, name: "opened", status: 201)), .after(0, .state(1, name: "again", status: 201))],
      .poll: [.after(1, ClientResponse(status: 304)), .after(1_000, ClientResponse(status: 304))],
      .action: [.after(1, .problem(404))],
    ])
    let reasons = scheduler.createObserver(String.self)
    scheduler.run(from: 1, until: nil) {
      for await failure in screen.failures().ignoringLosses { reasons.next("\(failure.failure)") }
    }
    scheduler.scheduleAt(10) { screen.send(.tap(1)) }
    scheduler.advance(to: 20)
    #expect(reasons.events == [.next(11, "The screen has ended, so this action was not performed.")])
    #expect(screen.currentState.name == "again" && transport.count(.opening) == 2)
    #expect(Set(transport.keys(.opening)).count == 2)
  }

  @Test("A screen that the server does not have fails", arguments: [404, 422])
  func unknownScreen(status: Int) throws {
    let (scheduler, transport, screen, _) = try start([.opening: [.after(0, .problem(status))]])
    scheduler.advance(to: 300)
    #expect(screen.status.connection == .failed && transport.count(.opening) == 1)
  }

  @Test(
    "A response of a proxy ends no screen, and loses no action",
    arguments: ForeignPage.allCases,
    [200, 302, 401, 403, 404, 407, 409, 410, 413, 422]
  )
  func proxy(page: ForeignPage, status: Int) throws {
    let foreign = page.response(status)
    let (scheduler, transport, screen, _) = try start([
      .opening: [.after(0, foreign), .after(0, .state(1, name: "opened", status: 201))],
      .poll: [.after(1, foreign), .after(1, .state(1, name: "opened")), .after(1_000, .problem(500))],
      .action: [.after(1, foreign), .after(1, .state(2, name: "performed"))],
    ])
    let failures = scheduler.createObserver(String.self)
    scheduler.run(from: 1, until: nil) {
      for await failure in screen.failures().ignoringLosses { failures.next("\(failure.failure)") }
    }
    scheduler.scheduleAt(60) { screen.send(.tap(1)) }
    scheduler.advance(to: 300)
    #expect(screen.currentState.name == "performed" && screen.status.openings == 1 && screen.pending == 0)
    #expect(failures.events.isEmpty && transport.count(.opening) == 2 && transport.count(.action) == 2)
    #expect(Set(transport.keys(.opening)).count == 1 && Set(transport.keys(.action)).count == 1)
  }

  @Test("Pulses with any number do not crash the app", arguments: [Int.min, -5, 0, 1, Int.max])
  func pulses(id: Int) throws {
    let (scheduler, _, screen, _) = try start([
      .opening: [.after(0, .state(1, name: "opened", status: 201, route: id))],
      .poll: [.after(1, .state(2, name: "a", route: .max)), .after(1, .state(3, name: "b", route: .min))],
    ])
    let routes = scheduler.observe(screen.pulses(\.route).map(\.value.id), from: 0, until: nil)
    scheduler.advance(to: 10)
    #expect(routes.events.last == .next(1, .max) || routes.events.last == .next(0, .max))
  }
}
