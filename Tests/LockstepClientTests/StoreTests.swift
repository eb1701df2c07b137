import Foundation
import Glibc
import LockstepClientTesting
import LockstepCollections
import LockstepJSON
import LockstepReactorTesting
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepClient

private struct Misruled: ListModule {
  typealias Element = Photo
  static let name = "photos"
  static let rules: [ElementRule] = [.bytes("nothing", 1...9)]
}

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
    let error = #expect(throws: LockstepClientError.self) { try open() }
    #expect(error?.reason == .damaged && error?.description.contains("setStoreAside(at:)") == true)
    let aside = try LockstepClient.setStoreAside(at: path)
    #expect(try open().status.pending == 0)
    // The writes that can be read are there.
    let isOutboxDamaged = script.hasPrefix("UPDATE outbox")
    #expect(aside.writes.count == (isOutboxDamaged ? 0 : 2) && aside.user == "user")
    try LockstepClient.removeStore(at: aside.path)
    try LockstepClient.removeStore(at: path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test("The writes of a file that was set aside can be performed again, and say whether they were sent")
  func setAside() throws {
    let (clock, server) = (VirtualClock(), FakeServer())
    try makeFile()
    try SQLiteConnection(path: path).execute("UPDATE client SET revision = -1")
    _ = try LockstepClient.setStoreAside(at: path)
    try makeFile()
    let aside = try LockstepClient.setStoreAside(at: path)
    #expect(aside.path == path + ".aside-2")
    #expect(aside.writes.map { $0.actions.map { $0["payload"]?["value"] } } == [[1], [2]])
    // Both were made without a network. The client has tried to send the first one.
    #expect(aside.writes.map(\.wasSent) == [true, false] && aside.writes.allSatisfy { $0.refusal == nil })
    let client = try LockstepClient(
      store: .file(path),
      transport: server,
      credentials: MemoryCredentials("token"),
      clock: clock
    )
    clock.start { await client.run() }
    clock.start {
      for write in aside.writes { _ = try? await client.perform { $0.perform(write) } }
    }
    clock.advance(by: .seconds(1))
    #expect(server.json(of: "defaults/standard") == ["count": 2] && client.status.pending == 0)
  }

  @Test("A file whose pages are damaged gives what can still be read")
  func damagedPages() throws {
    try makeFile()
    let file = try #require(FileHandle(forUpdatingAtPath: path))
    try SQLiteConnection(path: path).execute("PRAGMA wal_checkpoint(TRUNCATE)")
    let size = try file.seekToEnd()
    for page in stride(from: UInt64(4_096), to: size, by: 4_096) {
      try file.seek(toOffset: page)
      try file.write(contentsOf: Data(repeating: 0xFF, count: 100))
    }
    try file.close()
    let error = #expect(throws: LockstepClientError.self) { try open() }
    #expect(error?.reason == .damaged)
    #expect(try LockstepClient.setStoreAside(at: path).writes.isEmpty)
    #expect(try open().status.pending == 0)
  }

  @Test(
    "The error says what an app can do",
    arguments: [
      (11, 0, .damaged), (26, 0, .damaged), (20, 0, .damaged), (14, EACCES, .noAccess), (14, EPERM, .noAccess),
      (10, EPERM, .noAccess), (8, 0, .noAccess), (13, 0, .diskFull), (10, ENOSPC, .diskFull), (14, ENOENT, .noFolder),
      (5, 0, .busy), (10, EIO, .other), (1, 0, .other),
    ] as [(Int32, Int32, LockstepClientError.Reason)]
  )
  func reasons(code: Int32, system: Int32, reason: LockstepClientError.Reason) {
    let error = SQLiteError(extendedCode: code, message: "it failed", path: "/a", systemError: system)
    #expect(LockstepClientError(error).reason == reason)
    #expect(LockstepClientError(error).description.contains("it failed"))
  }

  @Test("A folder that does not exist, and a module that is declared incorrectly, have a reason of their own")
  func otherReasons() throws {
    let folder = folder.file("missing")
    let error = #expect(throws: LockstepClientError.self) {
      try LockstepClient(store: .file(folder + "/client.db"), transport: FakeServer())
    }
    #expect(error?.reason == .noFolder)
    let module = #expect(throws: LockstepClientError.self) {
      try LockstepClient(store: .memory, transport: FakeServer(), modules: [.list(Misruled())])
    }
    #expect(module?.reason == .invalidModule && module?.description.contains("nothing") == true)
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
    let error = #expect(throws: LockstepClientError.self) { try open() }
    #expect(error?.reason == .otherDatabase)
    try LockstepClient.removeStore(at: path)
    try makeFile()
    try SQLiteConnection(path: path).execute("PRAGMA user_version = 2")
    let newer = #expect(throws: LockstepClientError.self) { try open() }
    #expect(newer?.reason == .newerVersion)
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

  #if os(Linux)
    /// The locks that this process has on the client's files.
    ///
    /// A read of the list takes several calls. If another test releases locks between two of them, the list may lack a
    /// line. So this reads the list several times.
    private func locks() throws -> Set<Substring> {
      let files = ["", "-wal", "-shm", "-changed"].compactMap { suffix -> String? in
        var entry = stat()
        return stat(path + suffix, &entry) == 0 ? ":\(entry.st_ino) " : nil
      }
      var found: Set<Substring> = []
      for _ in 0..<10 {
        let lines = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
        found.formUnion(lines.filter { line in files.contains { line.contains($0) } })
      }
      return found
    }

    @Test("The client has no lock on its files after the end of `run`, and after `closeFile`")
    func noLocks() throws {
      let (clock, server) = (VirtualClock(), FakeServer())
      let client = try LockstepClient(
        store: .file(path),
        transport: server,
        credentials: MemoryCredentials("token"),
        clock: clock
      )
      let running = clock.start { await client.run() }
      clock.advance(by: .milliseconds(20))
      // An open database has shared locks between its transactions.
      #expect(try !locks().isEmpty)
      running.cancel()
      clock.advance(by: .milliseconds(20))
      #expect(try locks().isEmpty)
      clock.start { _ = try? await client.defaults().set("count", 1) }
      clock.settle()
      #expect(try !locks().isEmpty && client.status.pending == 1)
      clock.start { await client.closeFile() }
      clock.settle()
      #expect(try locks().isEmpty)
      clock.start { await client.run() }
      clock.advance(by: .seconds(1))
      #expect(client.status.pending == 0 && server.json(of: "defaults/standard") == ["count": 1])
    }
  #endif

  @Test("If the file was deleted while it was closed, a write fails, and no empty file takes its place")
  func deletedFile() throws {
    let (clock, failure) = (VirtualClock(), Recorded<String>())
    let client = try LockstepClient(store: .file(path), transport: FakeServer(), clock: clock)
    clock.start { await client.closeFile() }
    clock.settle()
    try LockstepClient.removeStore(at: path)
    clock.start {
      do { _ = try await client.defaults().set("count", 3) } catch { failure.set("\(error)") }
    }
    clock.settle()
    #expect(failure.value?.contains("deleted") == true && !FileManager.default.fileExists(atPath: path))
  }
}
