import Foundation
import LockstepClient
import LockstepClientTesting
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import Synchronization
import Testing

/// A form whose save takes 2 seconds, with a list whose rows lead to another screen.
struct Form: Reactor {
  enum Action: ScreenAction, Equatable {
    case setName(String)
    case save
    case tap(Int)
  }

  struct Route: Codable, Equatable, Identifiable, Sendable {
    let id: Int
    let row: Int
  }

  struct State: Codable, Equatable, Sendable {
    var name = ""
    var isSaving = false
    var saved: [String] = []
    var route: Route?
  }

  enum Mutation: Sendable {
    case name(String)
    case saving
    case saved(String)
    case route(Int)
  }

  struct NoName: Error, CustomStringConvertible {
    let description = "There is no name."
  }

  let clock: VirtualClock
  var name = ""

  var initialState: State { State(name: name) }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setName(let name): return .just(.name(name))
    case .tap(let row): return .just(.route(row))
    case .save:
      guard !state.name.isEmpty else { return .failure(NoName()) }
      return .concat(
        .just(.saving),
        .run { [clock] emit in
          try await clock.sleep(for: .seconds(2))
          try await emit(.saved(state.name))
        }
      )
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .name(let name): state.name = name
    case .saving: state.isSaving = true
    case .saved(let name):
      state.isSaving = false
      state.saved.append(name)
    case .route(let row): state.route = Route(id: (state.route?.id ?? 0) + 1, row: row)
    }
  }
}

extension Form.Action: Decodable {
  init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: Keys.self)
    switch try body.decode(String.self, forKey: .type) {
    case "setName": self = .setName(try body.decode([String: String].self, forKey: .payload)["value"] ?? "")
    case "tap": self = .tap(try body.decode([String: Int].self, forKey: .payload)["row"] ?? 0)
    default: self = .save
    }
  }

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .setName(let name): try ScreenActionBody("setName", ["value": name]).encode(to: encoder)
    case .tap(let row): try ScreenActionBody("tap", ["row": row]).encode(to: encoder)
    case .save: try ScreenActionBody("save").encode(to: encoder)
    }
  }

  private enum Keys: CodingKey {
    case type
    case payload
  }
}

/// Values that tasks have collected.
final class Collected<Value: Sendable>: Sendable {
  private let collected = Mutex<[Value]>([])
  var values: [Value] { collected.withLock { $0 } }
  func add(_ value: Value) { collected.withLock { $0.append(value) } }
}

/// Different numbers for the keys of requests.
final class Numbers: Sendable {
  private let last = Atomic<UInt64>(0)
  func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}

/// A remote screen and its server, on a clock that only the test moves.
struct ScreenFixture {
  typealias Screen = RemoteScreen<Form.Action, Form.State>

  let scheduler: TestScheduler
  var clock: VirtualClock { scheduler.clock }
  let server: FakeScreens
  /// The server for all but screens.
  let others: FakeServer
  let client: LockstepClient
  let screen: Screen
  /// The failures that `failures()` has delivered.
  let failures = Collected<String>()
  let running: Task<Void, Never>
  private let numbers = Numbers()

  init(
    token: String? = "token",
    tick: Duration = .seconds(1),
    capacity: Int = 256,
    restoring: (@Sendable (Form.State, Form.State) -> [Form.Action])? = nil
  ) throws {
    scheduler = TestScheduler(tick: tick)
    let clock = scheduler.clock
    others = FakeServer(clock: clock)
    server = FakeScreens(clock: clock, others: others)
    server.add("form") { arguments in Form(clock: clock, name: arguments["name"]?.stringValue ?? "") }
    client = try LockstepClient(
      store: .memory,
      transport: server,
      credentials: MemoryCredentials(token),
      clock: clock,
      // All delays are in the middle, and all keys differ.
      randomNumber: { [numbers] in .max / 2 + numbers.next() }
    )
    screen = client.screen("form", initially: Form.State(name: "…"), capacity: capacity, restoring: restoring)
    running = clock.start { [screen] in await screen.run() }
    clock.start { [screen, failures] in
      for await failure in screen.failures().ignoringLosses {
        failures.add("\(failure.action.map { "\($0)" } ?? "restoring"): \(failure.failure)")
      }
    }
  }

  /// Lets the clients and the server do what they can, which takes a few milliseconds of polls.
  func settle() { clock.advance(by: .milliseconds(100)) }

  /// The requests for the screen so far, without those of the client.
  var requests: [String] {
    server.requests.filter { $0.target.contains("reactors") }.map { "\($0.method) \($0.target)" }
  }
}
