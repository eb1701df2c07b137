import Foundation
import LockstepClient
import LockstepClientTesting
import LockstepReactor
import LockstepReactorTesting
import LockstepTestSupport
import Synchronization
import Testing

// docs/coming-from/realm.md shows this code, and scripts/guides compares the two.

struct Favorite: Codable, Identifiable, Equatable, Sendable {
  let id: String
  var title: String
}

func logIn(_ server: URL, file: String, email: String, password: String) async throws -> LockstepClient {
  let client = try LockstepClient(server, store: .file(file))
  try await client.logIn(email: email, password: password)
  return client
}

/// Adds two favorites, both or none, and changes a setting in the same transaction.
func addTwo(_ client: LockstepClient) async throws {
  let favorites = client.list(of: Favorite.self)
  let settings = client.defaults()
  try await client.perform { transaction in
    try transaction.add(Favorite(id: "photo:1", title: "Aurora"), in: favorites)
    try transaction.add(Favorite(id: "photo:2", title: "Geyser"), at: 0, in: favorites)
    try transaction.set("sorting", "manual", in: settings)
  }
}

/// Keeps a table up to date. Each update begins with the rows that the table shows.
func show(_ favorites: SyncedList<Favorite>, in table: Table) async throws {
  for await update in favorites.updates {
    try table.performBatchUpdates(update.changeset, leadingTo: update.new)
  }
}

/// A table that traps where UIKit does.
final class Table: Sendable {
  private let view = Mutex(StrictTableView<Favorite>())

  var titles: [String] { view.withLock { $0.rows.map(\.title) } }

  func performBatchUpdates(_ changeset: ListChangeset<Favorite>, leadingTo rows: [Favorite]) throws {
    try view.withLock { try $0.apply(changeset, leadingTo: rows) }
  }
}

@Suite("The guide, docs/coming-from/realm.md", .timeLimit(.minutes(10)))
struct RealmGuideTests {
  @Test("A change on one device is a batch update in the table of another")
  func twoDevices() throws {
    let clock = VirtualClock()
    let server = FakeServer(clock: clock)
    let clients = try (0..<2).map { _ in try LockstepClient.inMemory(server, clock) }
    let table = Table()
    for client in clients { clock.start { await client.run() } }
    clock.start {
      do { try await show(clients[1].list(of: Favorite.self), in: table) } catch { Issue.record(error) }
    }
    clock.start {
      do { try await addTwo(clients[0]) } catch { Issue.record(error) }
    }
    clock.advance(by: .milliseconds(50))
    #expect(table.titles == ["Geyser", "Aurora"])
    #expect(clients[1].defaults().value("sorting", as: String.self) == "manual")
  }

  @Test("A login needs a server")
  func unreachable() async throws {
    let folder = try TemporaryDirectory()
    let server = try unreachableServer()
    await #expect(throws: (any Error).self) {
      try await logIn(server, file: folder.file("client.db"), email: "ada@example.com", password: "secret")
    }
  }
}
