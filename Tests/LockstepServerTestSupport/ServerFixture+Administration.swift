import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepSync

extension ServerFixture {
  /// Runs `body` with a server that has an administrator token.
  static func administered(_ body: (ServerFixture) async throws -> Void) async throws {
    try await run({ $0.administratorToken = administrator }, body)
  }

  /// The administrator as a client.
  var admin: Device { Device(users: self, token: Self.administrator, user: "", session: "") }

  /// The number of requests that wait for the journal of all users.
  var following: Int { running.withLock { $0?.services.users.states.commits.metrics.waiting ?? 0 } }

  /// Creates a service token and returns a client with it.
  func service(_ name: String, _ scopes: String...) async throws -> Device {
    let scopes = scopes.map { "\"\($0)\"" }.joined(separator: ",")
    let response = try await admin.post("/v1/admin/tokens", #"{"name":"\#(name)","scopes":[\#(scopes)]}"#)
    try #require(response.status == 201, "\(response.text)")
    let token = try #require(response.json["token"]?.stringValue)
    return Device(users: self, token: token, user: "", session: response.json["id"]?.stringValue ?? "")
  }
}

extension ServerFixture {
  static let administrator = "boss"

  /// Sends a request as the administrator. The server must have been started with that token.
  func administer(
    _ method: String,
    _ target: String,
    _ body: String? = nil,
    _ fields: [String] = []
  ) async throws -> RawResponse {
    try await ask(method, target, fields, body: body.map { Array($0.utf8) }, token: Self.administrator)
  }

  /// Registers all values of a suite.
  func register(_ suite: String, _ values: String) async throws {
    let response = try await administer("PUT", "/v1/admin/registered/\(suite)", values)
    #expect(response.status == 200, "\(response.text)")
  }
}

extension Device {
  /// The path of a resource of this user for administrators.
  func administered(_ path: String = "") -> String { "/v1/admin/users/\(user)\(path)" }
}
