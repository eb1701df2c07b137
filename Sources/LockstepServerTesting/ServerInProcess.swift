import LockstepComposition
import LockstepAccounts
import LockstepBuiltInScreens
import LockstepClient
import LockstepHTTP
import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import LockstepScreens
import LockstepThreading
import LockstepTime
import Synchronization
import Testing

/// The whole server in the process of a test, on a clock that only the test moves. Its routes, its store in SQLite, its
/// screens and its waiting requests are those of `lockstep serve`. Only the sockets are missing.
///
///     try ServerInProcess.run { server in
///       server.upstream.respond(at: 120, with: .failure(.unreachable))
///       server.upstream.respond(at: 170, with: .success)
///       let client = try server.makeClient(for: "ada@example.com")
///       let form = client.screen("workingHistory", initially: Form(), actions: FormAction.self)
///       server.scheduler.run { await form.run() }
///       server.scheduler.scheduleAt(100) { form.send(.save) }
///       …
///       server.scheduler.advance(to: 300)
///     }
///
/// ## Time
///
/// All tasks of the clients and of the server run on the clock's executor, one after another. The server's threads,
/// such as the writer thread, run in real time. But after each job, the executor waits until the threads have ended
/// their work. So a commit takes no virtual time, no work is under way when the clock moves, and the order of events is
/// the same in each run.
///
/// There are no event streams. Requests and responses take no virtual time on their way.
public final class ServerInProcess: ClientTransport {
  private struct Contents: Sendable {
    /// Nil: the server is stopped.
    var server: SocketlessServer?
    var exchanges: [Int: Task<ClientResponse, any Error>] = [:]
    var lastExchange = 0
    var isOffline = false
    var lostResponses = 0
    var requests: [Recorded<ClientRequest>] = []
  }

  /// The scheduler of the test. By default, its times are in seconds from the start of the test.
  public let scheduler: TestScheduler
  /// The server that must accept a profile before the screen `workingHistory` saves it.
  public let upstream: ScriptedUpstream

  private let configuration: Configuration
  private let environment: Environment
  private let modules: [UserModule]
  private let screens: [ScreenDeclaration]
  private let validators: @Sendable (inout ScreenValidators) -> Void
  private let folder: TemporaryFolder
  private let contents = Mutex(Contents())
  private let lastNumber = Atomic<UInt64>(0)

  /// The clock of the test.
  public var clock: VirtualClock { scheduler.clock }

  /// Starts a server with an empty store. `modules` and `screens` are your own, besides the built-in ones. `configure`
  /// changes the server's settings. `validators` changes the rules of the built-in screens. Call
  /// `stop()` at the end of the test, or use `run` instead.
  public init(
    scheduler: TestScheduler = TestScheduler(),
    modules: [UserModule] = [],
    screens: [ScreenDeclaration] = [],
    validators: @escaping @Sendable (inout ScreenValidators) -> Void = { _ in },
    configure: (inout Configuration) -> Void = { _ in }
  ) throws {
    self.scheduler = scheduler
    (self.modules, self.screens, self.validators) = (modules, screens, validators)
    upstream = ScriptedUpstream(scheduler)
    folder = try TemporaryFolder()
    var configuration = Configuration()
    // The cheapest one.
    configuration.passwordStrength = Argon2Strength(memoryKiB: 8, passes: 1)
    configure(&configuration)
    configuration.data = folder.path + "/lockstep.db"
    self.configuration = configuration
    let (clock, counter) = (scheduler.clock, WorkCounter())
    clock.executor.waitAfterEachJob { counter.waitUntilIdle() }
    var environment = Environment(
      time: VirtualTime.source(clock),
      clock: clock,
      writeLog: { _ in },
      droppedLogLines: { 0 }
    )
    environment.placement.taskExecutor = clock.executor
    environment.placement.counter = counter
    self.environment = environment
    try start()
  }

  /// Runs `body` with a server, and stops the server afterwards.
  public static func run<Result>(
    scheduler: TestScheduler = TestScheduler(),
    modules: [UserModule] = [],
    screens: [ScreenDeclaration] = [],
    validators: @escaping @Sendable (inout ScreenValidators) -> Void = { _ in },
    configure: (inout Configuration) -> Void = { _ in },
    _ body: (ServerInProcess) throws -> Result
  ) throws -> Result {
    let server = try ServerInProcess(
      scheduler: scheduler,
      modules: modules,
      screens: screens,
      validators: validators,
      configure: configure
    )
    defer { server.stop() }
    return try body(server)
  }

  private func start() throws {
    let server = try SocketlessServer(
      configuration,
      environment: environment,
      modules: modules,
      screens: screens,
      upstream: upstream,
      validators: validators
    )
    contents.withLock { $0.server = server }
  }

  // MARK: - The end, and failures

  /// Stops the server, and deletes its store. Call it from the test, not from a task of the clock.
  public func stop() {
    clock.start { await self.shutDown() }
    clock.settle()
    folder.remove()
  }

  /// Stops the server, and starts another one on the same store. Screens, and all other contents of memory, are lost.
  public func restart() async throws {
    await shutDown()
    try start()
  }

  private func shutDown() async {
    let (server, exchanges) = contents.withLock { contents in
      defer { contents.server = nil }
      return (contents.server, contents.exchanges.sorted { $0.key < $1.key }.map(\.value))
    }
    guard let server else { return }
    server.close()
    // Requests that wait get their responses, as those of a server that drains.
    for exchange in exchanges { exchange.cancel() }
    for exchange in exchanges { _ = await exchange.result }
    try? await server.flush()
    while !server.isIdle { await Task.yield() }
    server.shutDown()
  }

  /// From now on, no request reaches the server, and waiting requests lose their responses.
  public func goOffline() {
    let exchanges = contents.withLock { contents in
      contents.isOffline = true
      return contents.exchanges.sorted { $0.key < $1.key }.map(\.value)
    }
    for exchange in exchanges { exchange.cancel() }
  }

  /// Requests reach the server again.
  public func goOnline() { contents.withLock { $0.isOffline = false } }

  /// Performs the next request other than a `GET`, and loses its response.
  public func loseNextResponse() { contents.withLock { $0.lostResponses += 1 } }

  /// The requests so far, with their times.
  public var requests: [Recorded<ClientRequest>] { contents.withLock { $0.requests } }

  // MARK: - Clients

  /// A client of the server, on the test's clock, with a session of the user with this e-mail address. If the user does
  /// not exist, the call signs the user up. Without an address, the client has no session. `modules` are the client's
  /// own modules.
  public func makeClient(
    for email: String? = nil,
    store: LockstepClient.Store = .memory,
    modules: [UserModule] = []
  ) throws -> LockstepClient {
    try LockstepClient(
      store: store,
      transport: self,
      credentials: MemoryCredentials(try email.map { try token(of: $0) }),
      modules: modules,
      clock: clock,
      // All pauses are in the middle, and all keys differ.
      randomNumber: { .max / 2 + self.lastNumber.add(1, ordering: .relaxed).newValue }
    )
  }

  /// Opens a session of the user, as another device does, and returns its token. If the user does not exist, the call
  /// signs the user up.
  public func token(of email: String, password: String = "correct horse") throws -> String {
    let body: JSON = ["email": .string(email), "password": .string(password)]
    let signUp = try send("POST", "/v1/users", body)
    let response = signUp.status == 409 ? try send("POST", "/v1/sessions", body) : signUp
    guard let token = (try? JSON(parsing: response.body))?["token"]?.stringValue else {
      throw ClientFailure("The server has opened no session: \(String(decoding: response.body, as: UTF8.self))")
    }
    return token
  }

  /// Sends a request from the test, and returns its response when all work that the request causes at the present time
  /// has ended. The request must not wait. Call this from the test, not from a task of the clock.
  @discardableResult
  public func send(_ method: String, _ target: String, _ body: JSON? = nil, token: String? = nil) throws
    -> ClientResponse
  {
    var request = ClientRequest(method: method, target: target, body: body?.encoded())
    if let token { request.fields["Authorization"] = "Bearer \(token)" }
    return try run(request)
  }

  private func run(_ request: ClientRequest) throws -> ClientResponse {
    let outcome = Outcome()
    clock.start {
      do { outcome.set(.success(try await self.response(to: request))) } catch { outcome.set(.failure(error)) }
    }
    clock.settle()
    guard let result = outcome.value else {
      throw ClientFailure("The request \(request.target) waits. Send it from a task.")
    }
    return try result.get()
  }

  // MARK: - Requests

  /// Hands a request to the server.
  public func response(to request: ClientRequest) async throws -> ClientResponse {
    let row = Recorded.next(scheduler.time, request)
    let (server, number) = contents.withLock { contents in
      contents.requests.append(row)
      contents.lastExchange += 1
      return (contents.isOffline ? nil : contents.server, contents.lastExchange)
    }
    guard let server else { throw ClientFailure(.unreachable, "The server cannot be reached.") }
    let exchange = Task(executorPreference: clock.executor) { [clock] in
      try await InProcessExchange(server, clock).response(to: request)
    }
    contents.withLock { $0.exchanges[number] = exchange }
    let result = await withTaskCancellationHandler {
      await exchange.result
    } onCancel: {
      exchange.cancel()
    }
    let isLost = contents.withLock { contents in
      contents.exchanges[number] = nil
      if contents.isOffline { return true }
      guard request.method != "GET", contents.lostResponses > 0 else { return false }
      contents.lostResponses -= 1
      return true
    }
    if isLost { throw ClientFailure(.unreachable, "The response was lost.") }
    try Task.checkCancellation()
    return try result.get()
  }
}

/// The result of a task that a test waits for.
private final class Outcome: Sendable {
  private let result = Mutex<Result<ClientResponse, any Error>?>(nil)
  var value: Result<ClientResponse, any Error>? { result.withLock { $0 } }
  func set(_ value: Result<ClientResponse, any Error>) { result.withLock { $0 = value } }
}
