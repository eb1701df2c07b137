import Glibc
import LockstepJSON
import LockstepTestSupport
import Testing

/// A server of an example with a shopping list, and a user who is logged in.
struct Shop {
  static let password = "correct horse"
  let process: LockstepProcess
  let port: Int
  let token: String

  /// `ShoppingScreens` also has two screens.
  init(
    in folder: TemporaryDirectory,
    name: String = "run",
    token: String? = nil,
    binary: String = "ShoppingScreens"
  ) async throws {
    (process, port) = try await LockstepProcess.serving(in: folder, name: name, binary: binary)
    if let token {
      self.token = token
    } else {
      let body = #"{"email":"ada@example.com","password":"\#(Self.password)"}"#
      let response = try await Self.ask(port, "POST", "/v1/users", body, [])
      self.token = try #require(try JSON(parsing: response.body)["token"]?.stringValue)
    }
  }

  static func request(_ method: String, _ target: String, _ body: String?, _ fields: [String]) -> String {
    let length = body.map { ["Content-Length: \($0.utf8.count)"] } ?? []
    let head = ["\(method) \(target) HTTP/1.1", "Host: h"] + fields + length
    return head.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
  }

  static func ask(
    _ port: Int,
    _ method: String,
    _ target: String,
    _ body: String?,
    _ fields: [String]
  ) async throws -> RawResponse {
    let client = try RawClient(port: port)
    defer { client.close() }
    try await client.send(request(method, target, body, fields))
    return try await client.response()
  }

  var authorization: String { "Authorization: Bearer \(token)" }

  func ask(_ method: String, _ target: String, _ body: String? = nil, _ fields: [String] = []) async throws
    -> RawResponse
  {
    try await Self.ask(port, method, target, body, fields + [authorization])
  }

  func json(_ target: String) async throws -> JSON { try JSON(parsing: try await ask("GET", target).body) }

  func stop() async {
    process.send(SIGTERM)
    #expect(await process.ended() == .exit(0))
  }
}
