import Foundation
import LockstepClient
import LockstepJSON
import LockstepReactor
import Synchronization

/// Screens in memory for tests of apps. It responds to the requests of a `RemoteScreen` with reactors that run on the
/// test's clock. The test decides when it fails.
///
///     let screens = FakeScreens(clock: clock)
///     screens.add("counter") { _ in Counter() }
///     let client = try LockstepClient(store: .memory, transport: screens, clock: clock)
///
/// The reactors decode their actions from `{"type": …, "payload": …}`. All other requests go to `others`, such as a
/// `FakeServer`.
public final class FakeScreens: ClientTransport {
  private struct Contents: Sendable {
    var kinds: [ExactText: Kind] = [:]
    var open: [ExactText: Screen] = [:]
    var opened = 0
    var responses: [ExactText: ClientResponse] = [:]
    var isOffline = false
    var lostResponses = 0
    var revoked: Set<ExactText> = []
    var requests: [ClientRequest] = []
  }

  private struct Kind: Sendable {
    let needsLogin: Bool
    let make: @Sendable (_ arguments: JSON) -> any FakeScreen
  }

  private struct Screen: Sendable {
    let token: String
    let name: String
    let hosted: any FakeScreen
  }

  private struct Unreachable: Error, CustomStringConvertible {
    let description: String
  }

  private let clock: any Clock<Duration>
  private let others: (any ClientTransport)?
  private let contents = Mutex(Contents())
  /// Counts the changes for which requests wait, besides those of states.
  private let changes = Latest(0)

  /// A server without screens. Pass the clock of the test.
  public init(clock: any Clock<Duration> = ContinuousClock(), others: (any ClientTransport)? = nil) {
    (self.clock, self.others) = (clock, others)
  }

  /// Adds a kind of screen. `make` returns the reactor of a new screen. It gets the arguments as a JSON object.
  public func add<R: Reactor>(
    _ name: String,
    needsLogin: Bool = true,
    _ make: @escaping @Sendable (_ arguments: JSON) -> R
  ) where R.Action: Decodable, R.State: Encodable {
    let kind = Kind(needsLogin: needsLogin) { HostedFakeScreen(make($0)) }
    contents.withLock { $0.kinds[name.exact] = kind }
  }

  // MARK: - Failures

  /// From now on, no request gets a response, and waiting requests lose their responses.
  public func goOffline() {
    contents.withLock { $0.isOffline = true }
    notify()
  }

  /// Requests get responses again.
  public func goOnline() { contents.withLock { $0.isOffline = false } }

  /// Performs the next request that opens a screen or sends actions, and loses its response.
  public func loseNextResponse() { contents.withLock { $0.lostResponses += 1 } }

  /// Ends all screens, as the server does when they had no request for 15 minutes, or when it restarts.
  public func endScreens() {
    let screens = contents.withLock { contents in
      contents.responses = [:]
      defer { contents.open = [:] }
      return Array(contents.open.values)
    }
    for screen in screens { screen.hosted.close() }
    notify()
  }

  /// Refuses a token from now on, and ends its screens.
  public func revokeSession(_ token: String) {
    _ = contents.withLock { $0.revoked.insert(token.exact) }
    notify()
  }

  /// All requests so far, including those that are not about screens.
  public var requests: [ClientRequest] { contents.withLock { $0.requests } }

  /// How many screens are open.
  public var openCount: Int { contents.withLock { $0.open.count } }

  // MARK: - Requests

  /// Responds as a server does.
  public func response(to request: ClientRequest) async throws -> ClientResponse {
    contents.withLock { $0.requests.append(request) }
    try expectNetwork()
    let url = URLComponents(string: request.target)
    let path = (url?.path ?? "").split(separator: "/").map(String.init)
    guard path.count >= 3, path[0] == "v1", path[1] == "reactors" else {
      return try await others?.response(to: request) ?? FakeProblem.response(.notFound, "There is no such route.")
    }
    guard let kind = contents.withLock({ $0.kinds[path[2].exact] }) else {
      let detail = "There is no screen “\(path[2])”. GET /v1/reactors lists all screens."
      return FakeProblem.response(.notFound, detail)
    }
    var token = request.fields["Authorization"].map { String($0.dropFirst("Bearer ".count)) } ?? ""
    if !kind.needsLogin { token = "" }
    if kind.needsLogin, isRevoked(token) { return FakeProblem.invalidToken }
    let query = Dictionary((url?.queryItems ?? []).map { ($0.name, $0.value ?? "") }) { $1 }
    switch (request.method, path.count) {
    case ("POST", 3):
      return try await once(request) { self.open(kind, path[2], token, query, request.body) }
    case ("POST", 5):
      return try await once(request) { await self.act(path, token, request.body) }
    case ("GET", 4): return try await read(path, token, query, request.fields["If-None-Match"])
    case ("DELETE", 4):
      guard let screen = find(path, token) else { return Self.noScreen }
      _ = contents.withLock { $0.open.removeValue(forKey: path[3].exact) }
      screen.hosted.close()
      return ClientResponse(status: 204)
    default: return FakeProblem.response(.methodNotAllowed, "The screen does not support this method.")
    }
  }

  private func once(_ request: ClientRequest, _ work: () async -> ClientResponse) async throws -> ClientResponse {
    let key = request.fields["Idempotency-Key"]
    let known = contents.withLock { contents in key.flatMap { contents.responses[$0.exact] } }
    let response: ClientResponse
    if let known { response = known } else { response = await work() }
    let isLost = contents.withLock { contents in
      if let key { contents.responses[key.exact] = response }
      defer { contents.lostResponses = max(0, contents.lostResponses - 1) }
      return contents.lostResponses > 0
    }
    if isLost { throw Unreachable(description: "the response was lost") }
    return response
  }

  private func open(_ kind: Kind, _ name: String, _ token: String, _ query: [String: String], _ body: [UInt8]?)
    -> ClientResponse
  {
    var arguments = (try? JSON(parsing: body ?? []))?["arguments"]?.objectValue ?? JSONObject()
    for (name, value) in query.sorted(by: { $0.key < $1.key }) { arguments[name] = .string(value) }
    let hosted = kind.make(.object(arguments))
    startInPlace { await hosted.run() }
    let id = contents.withLock { contents in
      contents.opened += 1
      contents.open[ExactText("\(contents.opened)")] = Screen(token: token, name: name, hosted: hosted)
      return "\(contents.opened)"
    }
    var document = Self.document(hosted, id)
    document["id"] = .string(id)
    document["name"] = .string(name)
    document["href"] = .string("/v1/reactors/\(name)/\(id)")
    return ClientResponse(status: 201, body: JSON.object(document).encoded())
  }

  private func act(_ path: [String], _ token: String, _ body: [UInt8]?) async -> ClientResponse {
    guard let screen = find(path, token) else { return Self.noScreen }
    guard let json = try? JSON(parsing: body ?? []) else {
      return FakeProblem.response(.malformedJSON, "The body is not JSON.")
    }
    do {
      try await screen.hosted.act(json.arrayValue ?? [json])
    } catch let refusal as StepRefusal {
      return FakeProblem.response(.conflict, "\(refusal.reason)")
    } catch is DecodingError {
      return FakeProblem.invalid([("/type", "There is no such action.")])
    } catch {
      return Self.noScreen
    }
    return ClientResponse(status: 200, body: JSON.object(Self.document(screen.hosted, path[3])).encoded())
  }

  private func read(_ path: [String], _ token: String, _ query: [String: String], _ known: String?) async throws
    -> ClientResponse
  {
    guard let screen = find(path, token) else { return Self.noScreen }
    let isKnown = { @Sendable in known == "\"\(path[3]).\(screen.hosted.shown.number)\"" }
    if let seconds = query["wait"].flatMap({ Int($0) }), isKnown() {
      await wait(seconds, for: screen.hosted) {
        !isKnown() || self.find(path, token) == nil || self.contents.withLock { $0.isOffline } || self.isRevoked(token)
      }
    }
    try expectNetwork()
    if !token.isEmpty, isRevoked(token) { return FakeProblem.invalidToken }
    guard find(path, token) != nil else { return Self.noScreen }
    if isKnown() { return ClientResponse(status: 304) }
    return ClientResponse(status: 200, body: JSON.object(Self.document(screen.hosted, path[3])).encoded())
  }

  private func wait(_ seconds: Int, for screen: any FakeScreen, until isOver: @escaping @Sendable () -> Bool) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { [clock] in try? await clock.sleep(for: .seconds(seconds)) }
      group.addTask { for await _ in screen.changes.values where isOver() { return } }
      group.addTask { [changes] in for await _ in changes.values where isOver() { return } }
      await group.next()
      group.cancelAll()
    }
  }

  private func find(_ path: [String], _ token: String) -> Screen? {
    contents.withLock { contents in
      guard let screen = contents.open[path[3].exact], screen.name.hasSameBytes(as: path[2]),
        screen.token.hasSameBytes(as: token)
      else { return nil }
      return screen
    }
  }

  private func notify() { changes.publish(changes.value + 1) }

  private func expectNetwork() throws {
    if contents.withLock({ $0.isOffline }) { throw Unreachable(description: "there is no network") }
  }

  private func isRevoked(_ token: String) -> Bool {
    contents.withLock { token.isEmpty || $0.revoked.contains(token.exact) }
  }

  private static func document(_ screen: any FakeScreen, _ id: String) -> JSONObject {
    let (number, state) = screen.shown
    return ["cursor": .string("\(id).\(number)"), "state": state]
  }

  private static let noScreen = FakeProblem.response(
    .notFound,
    "There is no such screen, or it has ended. POST /v1/reactors/{name} opens a new one."
  )
}

/// A running reactor, whatever type it has.
private protocol FakeScreen: AnyObject, Sendable {
  /// Counts the states that clients see.
  var changes: Latest<Int> { get }
  var shown: (number: Int, state: JSON) { get }
  func act(_ actions: [JSON]) async throws
  func run() async
  func close()
}

private final class HostedFakeScreen<R: Reactor>: FakeScreen where R.Action: Decodable, R.State: Encodable {
  private final class Slot: Sendable {
    let shown: Mutex<(number: Int, state: R.State)>
    init(_ state: R.State) { shown = Mutex((1, state)) }
  }

  let changes = Latest(1)
  private let slot: Slot
  private let host: ReactorHost<R>

  init(_ reactor: R) {
    let (slot, changes) = (Slot(reactor.initialState), changes)
    self.slot = slot
    host = ReactorHost(reactor) { trace in
      guard case .state(let state) = trace else { return }
      let number = slot.shown.withLock { shown in
        shown = (shown.number + 1, state)
        return shown.number
      }
      changes.publish(number)
    }
    let initial = host.currentState
    slot.shown.withLock { $0.state = initial }
  }

  var shown: (number: Int, state: JSON) {
    let (number, state) = slot.shown.withLock { $0 }
    return (number, (try? ElementCoding.json(state)) ?? .null)
  }

  func act(_ actions: [JSON]) async throws {
    let decoded = try actions.map { try ElementCoding.decode(R.Action.self, from: $0) }
    try await host.perform(decoded) { true }
  }

  func run() async { await host.run() }
  func close() { host.close() }
}
