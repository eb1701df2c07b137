import LockstepComposition
import LockstepHTTP
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

/// The product's server on a free port, with a stub of its store's health and a clock that stands still.
struct StubbedServer {
  let server: LockstepServer
  /// The folder of the store.
  private let files: TemporaryDirectory
  let time: ManualTime
  /// The clock for the server's pauses.
  let clock: VirtualClock
  /// How many tasks of the server sleep on `clock` when there is no request: those of deliveries,
  /// history and screens.
  static let sleeperCount = 3
  let log: LogRecorder
  let store: StubStore

  func connect() throws -> RawClient { try RawClient(port: server.address.port) }

  /// Sends one request over a new connection and returns the response.
  func ask(_ method: String, _ target: String, _ fields: [String] = []) async throws -> RawResponse {
    let client = try connect()
    defer { client.close() }
    try await client.send(Self.request(method, target, fields))
    return try await client.response(toHead: method == "HEAD")
  }

  func get(_ target: String, _ fields: [String] = []) async throws -> RawResponse {
    try await ask("GET", target, fields)
  }

  /// Sends these bytes over a new connection and returns the response.
  func exchange(_ text: String) async throws -> RawResponse {
    let client = try connect()
    defer { client.close() }
    try await client.send(text)
    return try await client.response()
  }

  static func request(_ method: String, _ target: String, _ fields: [String] = []) -> String {
    (["\(method) \(target) HTTP/1.1", "Host: h"] + fields + ["", ""]).joined(separator: "\r\n")
  }

  /// Runs `body` with a server. The server has stopped when this returns.
  static func run(
    _ change: (inout Configuration) -> Void = { _ in },
    _ body: (StubbedServer) async throws -> Void
  ) async throws {
    let gateway = try start(change)
    do {
      try await body(gateway)
    } catch {
      Issue.record(error)
    }
    await gateway.stop()
  }

  /// Starts a server, which the caller must stop.
  static func start(_ change: (inout Configuration) -> Void = { _ in }) throws -> StubbedServer {
    var configuration = Configuration()
    configuration.port = 0
    configuration.threads = 1
    change(&configuration)
    let (time, clock, log, store) = (ManualTime(), VirtualClock(), LogRecorder(), StubStore())
    let files = try TemporaryDirectory()
    configuration.data = files.file("lockstep.db")
    func services() throws -> Services {
      var services = try Services.durable(configuration, time: time.serverTime)
      services.store = store
      services.shutDown = { [shutDown = services.shutDown] in
        shutDown()
        store.shutDown()
      }
      return services
    }
    let server = try LockstepServer(
      configuration,
      environment: Environment(
        time: time.serverTime,
        clock: clock,
        writeLog: { log.record($0) },
        droppedLogLines: { 7 }
      ),
      services: services()
    )
    return StubbedServer(server: server, files: files, time: time, clock: clock, log: log, store: store)
  }

  func stop() async {
    server.drain()
    await ended()
  }

  func ended() async {
    await aside { server.join() }
  }
}

/// A store whose health a test sets.
final class StubStore: StoreHealth {
  struct Broken: Error {}

  private let state = Mutex((isBroken: false, checks: 0, shutDowns: 0))
  private let hung = Mutex<(isHanging: Bool, checks: [CheckedContinuation<Void, Never>])>((false, []))

  var checks: Int { state.withLock { $0.checks } }
  var shutDowns: Int { state.withLock { $0.shutDowns } }

  func setBroken(_ isBroken: Bool) { state.withLock { $0.isBroken = isBroken } }
  /// If true, checks hang from now on. If false, hanging checks end.
  func setHanging(_ isHanging: Bool) {
    let ended = hung.withLock { hung in
      defer { hung = (isHanging, []) }
      return hung.checks
    }
    for check in ended { check.resume() }
  }

  func shutDown() { state.withLock { $0.shutDowns += 1 } }

  func checkWritable() async throws {
    let isBroken = state.withLock { state in
      state.checks += 1
      return state.isBroken
    }
    await withCheckedContinuation { continuation in
      let isHung = hung.withLock { hung in
        if hung.isHanging { hung.checks.append(continuation) }
        return hung.isHanging
      }
      if !isHung { continuation.resume() }
    }
    if isBroken { throw Broken() }
  }
}

extension RawResponse {
  /// The body as a JSON object. If it is none, a failure is recorded, and the object is empty.
  var object: JSONObject {
    if case .object(let object)? = try? JSON(parsing: body) { return object }
    Issue.record("no JSON object: \(text)")
    return [:]
  }
}
