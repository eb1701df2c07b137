import Foundation
import LockstepClient
import LockstepClientTesting
import LockstepReactorTesting
import Testing

struct Photo: Codable, Identifiable, Equatable, Sendable {
  let id: String
  var title: String?
}

/// A client and a server on a clock that only the test moves.
struct ClientFixture {
  let clock = VirtualClock()
  let server: FakeServer
  let client: LockstepClient
  let photos: SyncedList<Photo>
  let settings: SyncedMap

  init(token: String? = "token") throws {
    server = FakeServer(clock: clock)
    client = try .inMemory(server, clock, token: token)
    photos = client.list(of: Photo.self)
    settings = client.defaults()
    clock.start { [client] in await client.run() }
    clock.advance(by: .milliseconds(20))
  }

  func add(_ id: String, title: String? = nil) {
    clock.start { [photos] in _ = try? await photos.add(Photo(id: id, title: title)) }
    clock.advance(by: .milliseconds(20))
  }

  var ids: [String] { photos.elements.map(\.id) }
}

extension LockstepClient {
  /// A client with its copy in memory.
  static func inMemory(
    _ transport: any ClientTransport,
    _ clock: VirtualClock,
    token: String? = "token"
  ) throws -> LockstepClient {
    try LockstepClient(store: .memory, transport: transport, credentials: MemoryCredentials(token), clock: clock)
  }
}

/// An address at which no server listens.
func unreachableServer() throws -> URL { try #require(URL(string: "http://127.0.0.1:1")) }
