import Foundation
import LockstepClientTesting
import LockstepJSON
import LockstepReactorTesting
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepClient

@Suite("Damaged files, and files of other programs and versions", .timeLimit(.minutes(10)))
struct StoreTests {
  private let folder: TemporaryDirectory
  private var path: String { folder.file("client.db") }

  init() throws { folder = try TemporaryDirectory() }

  private func open() throws -> LockstepClient {
    try LockstepClient(store: .file(path), transport: FakeServer(clock: VirtualClock()), clock: VirtualClock())
  }

  /// A file with a copy, a position and two writes.
  private func makeFile() throws {
    let (clock, server) = (VirtualClock(), FakeServer())
    let client = try LockstepClient(
      store: .file(path),
      transport: server,
      credentials: MemoryCredentials("token"),
      clock: clock
    )
    server.perform(["module": "favorites", "type": "add", "payload": ["id": "a", "title": "Aurora"]])
    clock.start { await client.run() }
    clock.advance(by: .milliseconds(20))
    server.goOffline()
    clock.start {
      for count in 1...2 { _ = try? await client.defaults().set("count", count) }
    }
    clock.advance(by: .milliseconds(20))
    #expect(client.status.pending == 2)
  }

  @Test(
    "If content cannot be read, the error says what to do, and the client does not trap",
    arguments: [
      "UPDATE client SET change = 9223372036854775807", "UPDATE client SET last = 9223372036854775807",
      "UPDATE client SET logins = 9223372036854775807", "UPDATE client SET revision = 9223372036854775807",
      "UPDATE client SET revision = -1", "UPDATE client SET followed = '{'", "UPDATE client SET connection = '['",
      "UPDATE outbox SET entry = substr(entry, 1, 20)", "UPDATE outbox SET entry = '{}'",
      "UPDATE collections SET text = substr(text, 1, 5)",
      "INSERT INTO changesets (collection, text, change) VALUES ('favorites', '{', 99999)",
      "INSERT INTO changesets (collection, text, change) VALUES ('favorites', '{}', 99999)",
      "INSERT INTO outcomes (number, outcome, at, change) VALUES (1, '{', 0, 99999)",
    ]
  )
  func damage(script: String) throws {
    try makeFile()
    try SQLiteConnection(path: path).execute(script)
    let error = #expect(throws: ClientFailure.self) { try open() }
    #expect(error?.description.contains("damaged") == true && error?.description.contains("removeStore(at:)") == true)
    try LockstepClient.removeStore(at: path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    #expect(try open().status.pending == 0)
  }

  @Test("If the file is damaged while the client runs, a write fails, and nothing in memory changes")
  func laterDamage() throws {
    try makeFile()
    let (clock, failure) = (VirtualClock(), Recorded<String>())
    let client = try LockstepClient(store: .file(path), transport: FakeServer(clock: clock), clock: clock)
    try SQLiteConnection(path: path).execute("UPDATE client SET change = change + 1, revision = -1")
    clock.start {
      do { _ = try await client.defaults().set("count", 3) } catch { failure.set("\(error)") }
    }
    clock.settle()
    #expect(failure.value?.contains("damaged") == true && client.defaults().value("count") == 2)
  }

  @Test(
    "Another program's database, and a file of a newer version, are not touched",
    arguments: ["CREATE TABLE contacts (name TEXT)", "PRAGMA application_id = 7; CREATE TABLE client (a INTEGER)"]
  )
  func otherDatabase(script: String) throws {
    try SQLiteConnection(path: path).execute(script)
    let error = #expect(throws: ClientFailure.self) { try open() }
    #expect(error?.description.contains("another program's database") == true)
    try LockstepClient.removeStore(at: path)
    try makeFile()
    try SQLiteConnection(path: path).execute("PRAGMA user_version = 2")
    let newer = #expect(throws: ClientFailure.self) { try open() }
    #expect(newer?.description.contains("newer version") == true)
  }

  @Test("A deep value that was written can be read again")
  func deepValue() throws {
    let text = String(repeating: "[", count: 120) + String(repeating: "]", count: 120)
    let value = try JSON(parsing: Array(text.utf8))
    do {
      let (client, clock) = (try open(), VirtualClock())
      clock.start { _ = try? await client.defaults().set("deep", value) }
      clock.settle()
      #expect(client.status.pending == 1)
    }
    #expect(try open().defaults().value("deep", as: JSON.self) == value)
  }
}
