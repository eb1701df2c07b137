import Foundation
import LockstepClient
import LockstepClientTesting
import LockstepClientUI
import LockstepReactorTesting
import LockstepSQLite
import LockstepTestSupport
import Testing

// docs/swift-client.md shows this code, and scripts/guides compares the two.

/// The data of a favorite.
struct PhotoData: Codable, Equatable, Sendable {
  var url: String
  var rating = 0
}

typealias FavoritePhoto = ListEntry<PhotoData>

func makeClient(_ server: URL, folder: String) throws -> LockstepClient {
  try LockstepClient(server, store: .file(folder + "/lockstep.db"), credentials: FileCredentials(folder + "/token"))
}

func readAndWrite(_ client: LockstepClient) async throws -> WriteResult {
  let photos = client.list(of: FavoritePhoto.self)
  let settings = client.defaults()

  let aurora = FavoritePhoto(id: "photo:1", title: "Aurora", data: PhotoData(url: "https://example.com/1.jpg"))
  let write = try await photos.add(aurora, at: 0)
  try await settings.set("theme", "dark")
  try await client.profile.save(Profile(position: "Chief"))

  print(photos.elements.count)  // 1: a write is shown when it returns
  print(settings.value("theme") ?? "light")  // dark
  return try await write.confirmed  // when the server has applied it
}

/// Both writes, or none. Other devices get them together.
func showFirst(_ photo: FavoritePhoto, _ client: LockstepClient) async throws {
  let (photos, settings) = (client.list(of: FavoritePhoto.self), client.defaults())
  try await client.perform { transaction in
    transaction.move(photo.id, to: 0, in: photos)
    try transaction.set("sorting", "manual", in: settings)
  }
}

func rate(_ photo: FavoritePhoto, _ rating: Int, in photos: SyncedList<FavoritePhoto>) async throws {
  var rated = photo
  rated.data?.rating = rating
  try await photos.replace(rated) { current, _ in
    // Another device has changed the photo meanwhile. Nil: it was removed, so there is nothing to rate.
    guard var merged = current else { return nil }
    merged.data?.rating = max(current?.data?.rating ?? 0, rating)
    return merged
  }
}

func retryQuotas(_ client: LockstepClient) async throws {
  for write in client.refusedWrites {
    if write.failure.status == 507 {
      _ = try await client.retry(write)
    } else {
      try await client.dismiss(write)
    }
  }
}

struct PhotoChange: Encodable, Sendable {
  var title: MemberChange<String> = .keep
}

/// Removes the title. Any other member of the photo stays.
func removeTitle(of photo: FavoritePhoto, in photos: SyncedList<FavoritePhoto>) async throws {
  try await photos.update(photo.id, with: PhotoChange(title: nil))
}

/// Opens the client, and performs the writes of a damaged file again, unless the server may have applied them.
func openOrRecover(
  _ path: String,
  _ open: () throws(LockstepClientError) -> LockstepClient
) async throws -> LockstepClient {
  do {
    return try open()
  } catch {
    guard error.reason == .damaged else { throw error }
  }
  let old = try LockstepClient.setStoreAside(at: path)
  let client = try open()
  for write in old.writes where !write.wasSent && write.refusal == nil {
    try await client.perform { $0.perform(write) }
  }
  return client
}

/// The data of a song. The schema of the playlist has the same members.
struct Song: Codable, Equatable, Sendable {
  var song: String
  var stars: Int?
}

func playAndScore(_ client: LockstepClient) async throws {
  let playlist = client.list("playlist", of: ListEntry<Song>.self)
  let scores = client.map("scores")
  try await playlist.add(ListEntry(id: "s1", data: Song(song: "Clair de lune")))
  try await scores.increment("level1", by: 50)
  print(playlist.elements.count, scores.value("level1") ?? 0)  // 1 50
}

@Suite("The guide, docs/swift-client.md", .timeLimit(.minutes(10)))
struct ClientGuideTests {
  @Test("A write is shown at once, without a network, and confirmed later")
  func offline() throws {
    let clock = VirtualClock()
    let server = FakeServer(clock: clock)
    server.goOffline()
    let client = try LockstepClient(
      store: .memory,
      transport: server,
      credentials: MemoryCredentials("token"),
      clock: clock
    )
    let result = Recorded<WriteResult>()
    clock.start { await client.run() }
    clock.start { if let confirmed = try? await readAndWrite(client) { result.set(confirmed) } }
    clock.advance(by: .seconds(1))
    #expect(client.status.pending == 3 && result.value == nil)
    server.goOnline()
    clock.advance(by: .seconds(60))
    #expect(client.status.pending == 0 && result.value != nil)
  }

  @Test("Two devices rate the same photo, and the higher rating stays")
  func rating() throws {
    let fixture = try ClientFixture()
    let (clock, client) = (fixture.clock, fixture.client)
    let photos = client.list(of: FavoritePhoto.self)
    let photo = FavoritePhoto(id: "p", title: "Aurora", data: PhotoData(url: "u"))
    clock.start { _ = try? await photos.add(photo) }
    clock.advance(by: .milliseconds(20))
    fixture.server.goOffline()
    clock.start { try? await rate(photo, 3, in: photos) }
    clock.advance(by: .milliseconds(20))
    fixture.server.perform([
      "module": "favorites", "type": "add",
      "payload": ["id": "p", "title": "Northern lights", "data": ["url": "u", "rating": 5]],
    ])
    fixture.server.goOnline()
    clock.advance(by: .seconds(60))
    let merged = FavoritePhoto(id: "p", title: "Northern lights", data: PhotoData(url: "u", rating: 5))
    #expect(photos.elements == [merged] && client.refusedWrites.isEmpty)
    clock.start { try? await showFirst(merged, client) }
    clock.advance(by: .milliseconds(20))
    #expect(client.defaults().value("sorting", as: String.self) == "manual")
    clock.start { _ = try? await photos.move("missing", to: 0) }
    clock.advance(by: .milliseconds(20))
    #expect(client.refusedWrites.count == 1)
    clock.start { try? await retryQuotas(client) }
    clock.advance(by: .milliseconds(20))
    #expect(client.refusedWrites.isEmpty)
  }

  @Test("A change removes the title, and the data stay")
  func changing() throws {
    let fixture = try ClientFixture()
    let photos = fixture.client.list(of: FavoritePhoto.self)
    let photo = FavoritePhoto(id: "p", title: "Aurora", data: PhotoData(url: "u"))
    fixture.clock.start {
      _ = try? await photos.add(photo)
      try? await removeTitle(of: photo, in: photos)
    }
    fixture.clock.advance(by: .milliseconds(50))
    #expect(photos.elements == [FavoritePhoto(id: "p", data: PhotoData(url: "u"))])
    #expect(fixture.client.status.pending == 0 && fixture.client.refusedWrites.isEmpty)
  }

  @Test("The writes of a damaged file are performed again")
  func recovering() async throws {
    let folder = try TemporaryDirectory()
    let path = folder.file("lockstep.db")
    func open() throws(LockstepClientError) -> LockstepClient {
      try LockstepClient(store: .file(path), transport: FakeServer())
    }
    try await open().defaults().set("theme", "dark")
    try SQLiteConnection(path: path).execute("UPDATE client SET change = -1")
    let client = try await openOrRecover(path, open)
    #expect(client.defaults().value("theme") == "dark" && client.status.pending == 1)
  }

  @Test("Writes to declared collections are shown at once, and the server gets them")
  func declared() throws {
    let fixture = try ClientFixture()
    try fixture.server.declare(["name": "playlist", "kind": "list"])
    try fixture.server.declare(["name": "scores", "kind": "map"])
    fixture.clock.start { [client = fixture.client] in try? await playAndScore(client) }
    fixture.clock.advance(by: .seconds(1))
    #expect(fixture.server.json(of: "playlist")[0]?["data"] == ["song": "Clair de lune"])
    #expect(fixture.server.json(of: "scores") == ["level1": 50])
  }

  @Test("The token and the copy are in two files that only the user can read")
  func files() async throws {
    let folder = try TemporaryDirectory()
    let client = try makeClient(unreachableServer(), folder: folder.path)
    try await client.defaults().set("theme", "dark")
    let credentials = FileCredentials(folder.file("token"))
    #expect(try credentials.token() == nil)
    try credentials.save("secret")
    try credentials.save("other")
    #expect(try credentials.token() == "other")
    for file in ["token", "lockstep.db"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(file))
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
    }
    try credentials.save(nil)
    try credentials.save(nil)
    #expect(try credentials.token() == nil)
    let again = try makeClient(unreachableServer(), folder: folder.path)
    #expect(again.defaults().value("theme", as: String.self) == "dark" && again.status.pending == 1)
  }
}
