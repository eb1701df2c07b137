import Foundation
import Glibc
import LockstepClient
import LockstepJSON
import LockstepTestSupport
import Testing

/// The small version of `scripts/bench swift-client`.
@Suite("A client with many writes that were made offline", .timeLimit(.minutes(10)))
struct LongOutboxTests {
  private static let count = 900

  @Test("After a restart, it sends each of them once, in order")
  func sending() async throws {
    let folder = try TemporaryDirectory()
    let server = RestartingServer(in: folder)
    try await server.start()
    let credentials = MemoryCredentials()
    func open() throws -> LockstepClient {
      let url = try #require(URL(string: server.address))
      return try LockstepClient(url, store: .file(folder.file("client.db")), credentials: credentials)
    }
    do {
      let client = try open()
      try await client.signUp(email: "ada@example.com", password: "correct horse")
      let (photos, settings) = (client.list(of: ListEntry<Int>.self), client.defaults())
      for number in 0..<Self.count / 3 {
        try await photos.add(ListEntry(id: "\(number)", data: number), at: 0)
        try await settings.increment("count")
        // The title is that of the last write, and nothing is applied twice.
        try await photos.toggle(ListEntry(id: "toggled", title: "\(number)"))
      }
    }
    let client = try open()
    #expect(client.status.pending == Self.count && client.defaults().value("count", as: Int.self) == Self.count / 3)
    let running = Task { await client.run() }
    await eventually { client.status.connection == .live && client.status.pending == 0 }
    let token = try #require(credentials.token())
    let items = try await server.json("/v1/favorites?limit=1000", token)["items"]?.arrayValue ?? []
    // The last of an even number of toggles has removed the element.
    #expect(items.map { $0["data"]?.intValue } == (0..<Self.count / 3).reversed().map { $0 })
    #expect(try await server.json("/v1/defaults/standard", token)["values"] == ["count": JSON(Self.count / 3)])
    #expect(client.list(of: ListEntry<Int>.self).elements.count == items.count && client.refusedWrites.isEmpty)
    running.cancel()
    await running.value
    await server.end(SIGTERM)
  }
}
