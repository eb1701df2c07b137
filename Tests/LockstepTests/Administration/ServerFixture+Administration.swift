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

extension Device {
  /// The path of a resource of this user for administrators.
  func administered(_ path: String = "") -> String { "/v1/admin/users/\(user)\(path)" }
}
