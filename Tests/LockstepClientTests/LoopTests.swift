import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepClient

/// A server whose streams end at once, and which finds a conflict in each conditional write.
private final class UselessServer: StreamingTransport {
  private let server: FakeServer
  private let counts = Mutex((streams: 0, conflicts: 0))

  init(_ server: FakeServer) { self.server = server }

  var streams: Int { counts.withLock { $0.streams } }
  var conflicts: Int { counts.withLock { $0.conflicts } }

  func response(to request: ClientRequest) async throws -> ClientResponse {
    guard request.target == "/v1/actions" else { return try await server.response(to: request) }
    counts.withLock { $0.conflicts += 1 }
    let body: JSON = [
      "type": "/problems/precondition-failed", "title": "This has changed in the meantime", "status": 412,
      "current": "theirs", "cursor": "r1.e1",
    ]
    return ClientResponse(status: 412, body: body.encoded())
  }

  func stream(of request: ClientRequest) async throws -> ClientStream {
    counts.withLock { $0.streams += 1 }
    let (parts, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
    continuation.finish()
    return ClientStream(response: ClientResponse(status: 200), parts: parts)
  }
}

@Suite("Servers that keep a client busy", .timeLimit(.minutes(10)))
struct LoopTests {
  private let clock = VirtualClock()
  private let server: FakeServer
  private let useless: UselessServer

  init() {
    server = FakeServer(clock: clock)
    useless = UselessServer(server)
  }

  private func client(following: Following) throws -> LockstepClient {
    try LockstepClient(
      store: .memory,
      transport: useless,
      credentials: MemoryCredentials("token"),
      following: following,
      clock: clock
    )
  }

  @Test("Streams that end at once are begun ever more seldom")
  func streams() throws {
    let client = try client(following: .events)
    clock.start { await client.run() }
    clock.advance(by: .seconds(60))
    let minute = useless.streams
    clock.advance(by: .seconds(3_600))
    #expect((4...10).contains(minute) && useless.streams - minute <= 70)
  }

  @Test("A write that has a conflict each time is sent ever more seldom")
  func conflicts() throws {
    let client = try client(following: .polls)
    clock.start { await client.run() }
    clock.advance(by: .seconds(1))
    clock.start {
      _ = try? await client.defaults().set("text", "mine") { _, mine in mine }
    }
    clock.advance(by: .seconds(60))
    let minute = useless.conflicts
    clock.advance(by: .seconds(3_600))
    #expect((8...20).contains(minute) && useless.conflicts - minute <= 370)
    #expect(client.status.connection == .live && client.status.pending == 1)
  }
}
