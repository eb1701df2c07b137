import Glibc
import LockstepHTTP
import LockstepJSON
import LockstepTestSupport
import LockstepThreading
import Testing

@Suite("Webhooks of the binary", .timeLimit(.minutes(10)))
struct WebhookDeliveryTests {
  private static let administrator = "0123456789abcdef0123456789abcdef"

  private static func ask(
    _ port: Int,
    _ method: String,
    _ target: String,
    _ token: String,
    _ body: String = ""
  ) async throws -> RawResponse {
    let client = try RawClient(port: port)
    defer { client.close() }
    let head = "\(method) \(target) HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(token)\r\n"
    try await client.send("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
    return try await client.response()
  }

  private static func serve(in folder: TemporaryDirectory, _ name: String) async throws -> (LockstepProcess, Int) {
    try await LockstepProcess.serving(
      ["--admin-token", administrator, "--webhook-allow-private"],
      in: folder,
      name: name
    )
  }

  @Test("A receiver that hangs delays no other one, and a killed server delivers again what it had not settled")
  func killed() async throws {
    let folder = try TemporaryDirectory()
    let hanging = try RawServer()
    let arrived = LockedState<[(id: String, revision: Int)]>([])
    /// Whether the receiver does not respond to the 21st.
    let isHeld = LockedState(true)
    try await LoopbackServer.run { request in
      let body = try JSON(parsing: try await request.body.collect())
      let (id, revision) = (request.head["webhook-id"] ?? "", body["data"]?["revision"]?.intValue ?? 0)
      arrived.withLock { $0.append((id, revision)) }
      while revision > 20, isHeld.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(10)) }
      return Response(status: .noContent)
    } _: { receiver in
      defer { isHeld.withLock { $0 = false } }
      let (server, port) = try await Self.serve(in: folder, "first")
      for (name, url) in [("hangs", hanging.port), ("works", receiver)] {
        let body = #"{"url":"http://127.0.0.1:\#(url)/","events":["state.changed"]}"#
        #expect(try await Self.ask(port, "PUT", "/v1/admin/webhooks/\(name)", Self.administrator, body).status == 201)
      }
      let signUp = try await Self.ask(
        port,
        "POST",
        "/v1/users",
        "",
        #"{"email":"a@b.example","password":"correct horse"}"#
      )
      let token = try #require(try JSON(parsing: signUp.body)["token"]?.stringValue)
      for number in 1...20 {
        #expect(try await Self.ask(port, "PUT", "/v1/defaults/app/k", token, "\(number)").status < 300)
      }
      // An event whose response takes longer than 15 seconds arrives again.
      await eventually {
        let revisions = arrived.withLock { $0.map(\.revision) }
        return revisions.indices.filter { $0 == 0 || revisions[$0] != revisions[$0 - 1] }.map { revisions[$0] }
          == Array(1...20)
      }
      // The server is killed while the receiver has the 21st, and no response.
      for number in 21...22 {
        #expect(try await Self.ask(port, "PUT", "/v1/defaults/app/k", token, "\(number)").status < 300)
      }
      await eventually { arrived.withLock { $0.contains { $0.revision == 21 } } }
      server.send(SIGKILL)
      #expect(await server.ended() == .signal(SIGKILL))
      let before = arrived.withLock { $0 }
      #expect(!before.contains { $0.revision == 22 })
      isHeld.withLock { $0 = false }
      let (next, _) = try await Self.serve(in: folder, "second")
      // The lease of the killed server takes 40 seconds.
      await eventually(patience: .seconds(180)) { arrived.withLock { $0.contains { $0.revision == 22 } } }
      let later = arrived.withLock { $0.dropFirst(before.count).prefix { $0.revision != 22 } }
      #expect(!later.isEmpty && later.allSatisfy { $0.revision == 21 })
      #expect(Set((before + later).filter { $0.revision == 21 }.map(\.id)).count == 1)
      next.send(SIGTERM)
      #expect(await next.ended() == .exit(0))
    }
  }
}
