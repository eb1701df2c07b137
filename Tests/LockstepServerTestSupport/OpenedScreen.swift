import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
import LockstepHTTP
import LockstepHTTPClient
import LockstepHTTPServer
import LockstepJSON
@testable import LockstepLogging
@testable import LockstepMaintenance
@testable import LockstepMiddleware
@testable import LockstepModules
import LockstepReactor
import LockstepSQLite
@testable import LockstepScreens
@testable import LockstepSync
import LockstepThreading
@testable import LockstepTime

/// A screen that a client has opened over a socket.
struct OpenedScreen: Sendable {
  let users: ServerFixture
  let token: String?
  let href: String
  let opened: RawResponse

  func ask(_ method: String, _ target: String, _ body: String? = nil, _ fields: [String] = []) async throws
    -> RawResponse
  {
    try await users.ask(method, target, fields, body: body.map { Array($0.utf8) }, token: token)
  }

  func act(_ actions: String, _ fields: [String] = []) async throws -> RawResponse {
    try await ask("POST", "\(href)/actions", actions, fields)
  }

  func read(_ fields: [String] = []) async throws -> RawResponse { try await ask("GET", href, nil, fields) }

  /// Reads the present state.
  func state() async throws -> JSON { try await read().json["state"] ?? .null }

  /// Waits until the screen shows this state.
  func shows(_ expected: JSON, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    try await shows("\(expected)", sourceLocation) { $0 == expected }
  }

  /// Waits until the screen's state fulfils a condition. Each request waits for the next state.
  func shows(
    _ what: String,
    _ sourceLocation: SourceLocation = #_sourceLocation,
    where isExpected: (JSON) -> Bool
  ) async throws {
    var response = try await read()
    for _ in 0..<100 where !isExpected(response.json["state"] ?? .null) {
      let tag = try #require(response.field("ETag"))
      let next = try await read(["If-None-Match: \(tag)", "Prefer: wait=50"])
      try #require(next.status == 200, "\(next.text)")
      response = next
    }
    #expect(
      isExpected(response.json["state"] ?? .null),
      "\(response.text) is not \(what)",
      sourceLocation: sourceLocation
    )
  }

  /// The number of open screens.
  static func count(of users: ServerFixture) -> Int {
    users.running.withLock { $0?.components.screens.metrics.open ?? 0 }
  }
}

extension ServerFixture {
  /// Opens a screen at a URL.
  func open(_ target: String, _ body: String = "", token: String?) async throws -> OpenedScreen {
    let response = try await ask("POST", target, body: Array(body.utf8), token: token)
    try #require(response.status == 201, "\(response.text)")
    let href = try #require(response.json["href"]?.stringValue)
    return OpenedScreen(users: self, token: token, href: href, opened: response)
  }

  /// The number of requests that wait for screens.
  var waitingForScreens: Int { running.withLock { $0?.components.screens.waiters.metrics.waiting ?? 0 } }
}

extension Device {
  /// Opens a screen.
  func open(_ name: String, _ body: String = "") async throws -> OpenedScreen {
    try await users.open("/v1/reactors/\(name)", body, token: token)
  }
}
