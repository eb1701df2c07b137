import LockstepHTTP
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepStateTestSupport

/// The product's server on a free port, with a store in the database under test, a clock that stands still,
/// and the cheapest password hashes.
final class ServerFixture: Sendable {
  static let password = "correct horse"

  let time = ManualTime()
  /// The clock for the server's pauses. The server does nothing by itself, such as its check of the store every second,
  /// until a test advances this clock.
  let clock = VirtualClock()
  let log = LogRecorder()
  let directory: TemporaryDirectory
  let configuration: Configuration
  private let modules: [UserModule]
  private let screens: [ScreenDeclaration]
  private let replace: @Sendable (inout ScreenServices) -> Void
  let running: Mutex<LockstepServer?>
  /// Whether `ask` repeats a request that was refused because the server has no lease. A test that cuts
  /// the server off from its database sets this to false.
  let repeatsRefusals = Mutex(true)
  /// Created at the first response.
  private let described = LockedState<(modules: Revision, validator: OpenAPIValidator)?>(nil)

  private init(
    _ change: (inout Configuration) -> Void,
    modules: [UserModule],
    screens: [ScreenDeclaration],
    replacing replace: @escaping @Sendable (inout ScreenServices) -> Void
  ) throws {
    directory = try TemporaryDirectory()
    var configuration = Configuration()
    configuration.port = 0
    configuration.threads = 1
    configuration.data = directory.file("lockstep.db")
    configuration.store = try TestedStore.database(for: configuration.data)
    configuration.passwordStrength = Argon2Strength(memoryKiB: 8, passes: 1)
    configuration.accounts.mailDelay = .zero ... .zero
    configuration.outgoingTimes = OutgoingTimes(all: .seconds(300))
    change(&configuration)
    self.configuration = configuration
    self.modules = modules
    self.screens = screens
    self.replace = replace
    running = Mutex(try Self.start(configuration, modules, screens, (time, clock), log, replace))
  }

  /// Runs `body` with a server, which has stopped when this returns. `modules` and `screens` are
  /// additional. `replacing` replaces services of the screens by stubs.
  static func run(
    _ change: (inout Configuration) -> Void = { _ in },
    modules: [UserModule] = [],
    screens: [ScreenDeclaration] = [],
    replacing replace: @escaping @Sendable (inout ScreenServices) -> Void = { _ in },
    _ body: (ServerFixture) async throws -> Void
  ) async throws {
    let users = try ServerFixture(change, modules: modules, screens: screens, replacing: replace)
    do {
      if SwappedWords.current != nil { try await users.declareReplacements() }
      try await body(users)
    } catch {
      Issue.record(error)
    }
    await users.stop()
    let path = users.configuration.data
    await aside {
      TestedStore.drop(path)
      TestedStore.drop(path + ".copy")
    }
  }

  private static func start(
    _ configuration: Configuration,
    _ modules: [UserModule],
    _ screens: [ScreenDeclaration],
    _ clocks: (time: ManualTime, pauses: VirtualClock),
    _ log: LogRecorder,
    _ replace: (inout ScreenServices) -> Void
  ) throws -> LockstepServer {
    let time = clocks.time
    func services() throws -> Services {
      var services = try Services.durable(configuration, modules: modules, screens: screens, time: time.serverTime)
      replace(&services.users.screens.services)
      return services
    }
    return try LockstepServer(
      configuration,
      environment: Environment(
        time: time.serverTime,
        clock: clocks.pauses,
        writeLog: { log.record($0) },
        droppedLogLines: { 0 }
      ),
      services: services()
    )
  }

  /// Stops the server if it is running. Its memory is lost, and only the store remains.
  func stop() async {
    guard let server = running.withLock({ $0.take() }) else { return }
    server.drain()
    await aside { server.join() }
  }

  /// Stops the server and starts another on the same store.
  func restart(_ change: (inout Configuration) -> Void = { _ in }) async throws {
    await stop()
    var configuration = configuration
    change(&configuration)
    let next = try Self.start(configuration, modules, screens, (time, clock), log, replace)
    running.withLock { $0 = next }
  }

  /// Lets time pass, also for the limits of attempts that the database counts.
  func passAttempts(seconds: Int) throws {
    time.advance(by: Double(seconds))
    try TestedStore.passAttempts(ofStore: directory.file("lockstep.db"), seconds: seconds)
  }

  func connect() throws -> RawClient {
    try RawClient(port: try #require(running.withLock { $0 }).address.port)
  }

  /// Sends one request over a new connection and returns the response, which must match the OpenAPI
  /// document.
  func ask(
    _ method: String,
    _ target: String,
    _ fields: [String] = [],
    body: [UInt8]? = nil,
    token: String? = nil
  ) async throws -> RawResponse {
    if target.hasPrefix("/v1/admin/journal") { try await journalIsComplete() }
    var fields = fields
    if let token { fields.append("Authorization: Bearer \(token)") }
    if let body { fields.append("Content-Length: \(body.count)") }
    let request = Array(StubbedServer.request(method, target, fields).utf8) + (body ?? [])
    var response = try await exchange(request, isHead: method == "HEAD")
    if repeatsRefusals.withLock({ $0 }), response.isWithoutLease {
      // On a busy machine, a server may lose its lease for a moment. It has done nothing with the request.
      try await eventually {
        response = try await exchange(request, isHead: method == "HEAD")
        return !response.isWithoutLease
      }
    }
    // The descriptions have the server's names, so the words are swapped back.
    let asked = SwappedWords.current?.swapping(target) ?? target
    for fault in try description().faults(response.swapped, toMethod: method, asked) { Issue.record("\(fault)") }
    return response
  }

  private func exchange(_ request: [UInt8], isHead: Bool) async throws -> RawResponse {
    let client = try connect()
    defer { client.close() }
    try await client.send(request)
    return try await client.response(toHead: isHead)
  }

  /// The server's OpenAPI document.
  func openAPI() throws -> JSON {
    try JSON(parsing: try #require(running.withLock { $0 }).components.openAPI.document().bytes)
  }

  /// The descriptions of the server's routes, for comparison with responses.
  func description() throws -> OpenAPIValidator {
    try described.withLock { described in
      // Declared collections have descriptions too.
      let modules = running.withLock { $0?.services.users.modules.all.current.revision ?? .none }
      if let described, described.modules == modules { return described.validator }
      let made = try OpenAPIValidator(try #require(running.withLock { $0 }).components)
      described = (modules, made)
      return made
    }
  }

  /// Sends a `POST` without a token.
  func post(_ target: String, _ body: String, _ fields: [String] = []) async throws -> RawResponse {
    try await ask("POST", target, fields, body: Array(body.utf8))
  }

  /// Signs up `<name>@example.com` and returns the first device.
  func signUp(_ name: String = "ada", device: String? = nil) async throws -> Device {
    try await enter("/v1/users", name, device)
  }

  /// Logs in another device of the user.
  func logIn(_ name: String = "ada", device: String? = nil, password: String = ServerFixture.password) async throws
    -> Device
  {
    try await enter("/v1/sessions", name, device, password: password)
  }

  /// The file of the store if it is in SQLite.
  var storePath: String { configuration.data }

  private func enter(
    _ target: String,
    _ name: String,
    _ device: String?,
    password: String = ServerFixture.password
  ) async throws -> Device {
    var body: JSONObject = ["email": .string("\(name)@example.com"), "password": .string(password)]
    if let device { body["device"] = .string(device) }
    let response = try await ask("POST", target, body: JSON.object(body).encoded())
    try #require(response.status == 201, "\(response.text)")
    let document = response.json
    return Device(
      users: self,
      token: try #require(document["token"]?.stringValue),
      user: try #require(document["user"]?["id"]?.stringValue),
      session: try #require(document["session"]?["id"]?.stringValue)
    )
  }
}

/// A client with a token.
struct Device: Sendable {
  let users: ServerFixture
  let token: String
  let user: String
  let session: String

  func ask(
    _ method: String,
    _ target: String,
    _ body: String? = nil,
    _ fields: [String] = []
  ) async throws -> RawResponse {
    try await users.ask(method, target, fields, body: body.map { Array($0.utf8) }, token: token)
  }

  func get(_ target: String, _ fields: [String] = []) async throws -> RawResponse {
    try await ask("GET", target, nil, fields)
  }

  func put(_ target: String, _ body: String, _ fields: [String] = []) async throws -> RawResponse {
    try await ask("PUT", target, body, fields)
  }

  func patch(_ target: String, _ body: String, _ fields: [String] = []) async throws -> RawResponse {
    try await ask("PATCH", target, body, fields)
  }

  func post(_ target: String, _ body: String, _ fields: [String] = []) async throws -> RawResponse {
    try await ask("POST", target, body, fields)
  }

  func delete(_ target: String, _ fields: [String] = []) async throws -> RawResponse {
    try await ask("DELETE", target, nil, fields)
  }

  /// Adds favorites without content in this order. It repeats a request that a server of a fleet refuses,
  /// because a server on a slow machine has no lease for a moment.
  func addFavorites(_ ids: String...) async throws {
    for id in ids { try await eventually { try await put("/v1/favorites/\(id)", "{}").status != 503 } }
  }

  /// The ids of the favorites in order.
  func favoriteIDs(_ target: String = "/v1/favorites") async throws -> [String] {
    let response = try await get(target)
    return (response.json["items"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue }
  }
}

extension Device {
  /// The device of a response to a sign-up or a login.
  init(_ response: RawResponse, _ users: ServerFixture) throws {
    self.init(
      users: users,
      token: try #require(response.json["token"]?.stringValue),
      user: try #require(response.json["user"]?["id"]?.stringValue),
      session: try #require(response.json["session"]?["id"]?.stringValue)
    )
  }
}

/// The parts of a problem that tests compare: its slug, and the pointers of its faults.
struct ProblemSummary: Equatable, CustomStringConvertible {
  let slug: String
  let pointers: [String]

  init(_ slug: String, _ pointers: String...) {
    self.slug = slug
    self.pointers = pointers
  }

  init(slug: String, pointers: [String]) {
    self.slug = slug
    self.pointers = pointers
  }

  var description: String { ([slug] + pointers).joined(separator: " ") }
}

extension RawResponse {
  /// Whether the server has refused the request before it did anything, because it has no lease.
  var isWithoutLease: Bool { status == 503 && text.contains("cannot reach its database at present") }

  /// The body as JSON. If it is none, a failure is recorded, and the value is null.
  var json: JSON {
    if let json = try? JSON(parsing: body) { return json }
    Issue.record("no JSON: \(status) \(text)")
    return .null
  }

  /// The ETag without its quotes.
  var tag: String? { field("ETag").map { String($0.dropFirst().dropLast()) } }

  var cursor: String? { field("Cursor") }

  /// The problem in the response. If the body is not a valid problem document, a failure is
  /// recorded, and the problem is nil.
  var problem: ProblemSummary? {
    let document = json
    guard field("Content-Type") == "application/problem+json", document["status"]?.intValue == status,
      document["title"]?.stringValue?.isEmpty == false, document["detail"]?.stringValue?.isEmpty == false,
      let type = document["type"]?.stringValue, type.hasPrefix("/problems/")
    else {
      Issue.record("not a problem document: \(status) \(text)")
      return nil
    }
    let errors = document["errors"]?.arrayValue ?? []
    return ProblemSummary(
      slug: String(type.dropFirst("/problems/".count)),
      pointers: errors.map { $0["pointer"]?.stringValue ?? "?" }
    )
  }
}
