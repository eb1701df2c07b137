import Foundation
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepStateTestSupport

@Suite("The durable store", .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly), .timeLimit(.minutes(10)))
struct DurableStoreTests {
  private let fixture: StoreFixture

  init() throws {
    fixture = try StoreFixture()
  }

  private func checkedAt() throws -> Int64? {
    let found = try fixture.sqlite().first("SELECT checked_at FROM store") { row in try row[0] as Int64? }
    return try #require(found)
  }

  // MARK: Opening

  @Test("A new store has the schema and an id, and only its owner can read it")
  func new() throws {
    let store = try fixture.store()
    #expect(store.id.count == 32)
    let connection = try fixture.sqlite()
    #expect(try connection.first("PRAGMA journal_mode") { row in try row[0] as String } == "wal")
    #expect(try connection.first("SELECT id FROM store") { row in try row[0] as String } == store.id)
    #expect(try connection.first("SELECT created_at FROM store") { row in try row[0] as Int } == 1_000_000)
    #expect(try checkedAt() == nil)
    #expect(try FileManager.default.attributesOfItem(atPath: fixture.path)[.posixPermissions] as? Int == 0o600)
  }

  @Test("A store keeps its id, and two stores have different ids")
  func identity() throws {
    let store = try fixture.store()
    store.close()
    #expect(try fixture.store().id == store.id)
    #expect(try fixture.store(fixture.folder.file("other.db")).id != store.id)
  }

  @Test("The id is made of the given random numbers")
  func randomSource() throws {
    func id(_ name: String) throws -> String {
      try DurableStore(path: fixture.folder.file(name), random: CountingNumbers()).id
    }
    let first = try id("first.db")
    #expect(try id("second.db") == first)
    #expect(Set(first).isSubset(of: Set("0123456789abcdef")))
  }

  private func errorOpening(_ path: String) -> String? {
    let error = #expect(throws: StoreError.self) { try self.fixture.store(path) }
    return error?.description
  }

  @Test("A missing folder is reported")
  func missingFolder() {
    let path = fixture.folder.file("none/lockstep.db")
    #expect(
      errorOpening(path)
        == "SQLite could not open \(path): cannot create the file: No such file or directory (code 14). Check that the "
        + "folder exists, and that this process may read and write the file and its folder."
    )
  }

  @Test("A folder without write permission is reported")
  func unwritableFolder() throws {
    try AsNobody.run(in: fixture.folder.path) {
      let path = fixture.path
      #expect(
        errorOpening(path)
          == "SQLite could not open \(path): cannot create the file: Permission denied (code 14). Check that the "
          + "folder exists, and that this process may read and write the file and its folder."
      )
    }
  }

  @Test("A file without write permission is reported")
  func readOnlyFile() throws {
    try fixture.store().close()
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: fixture.path)
    try AsNobody.run(in: fixture.folder.path) {
      let path = fixture.path
      #expect(
        errorOpening(path)
          == "SQLite could not open \(path): this process may only read the file (code 8). The database can be read but "
          + "not written: check the permissions of the file and its folder, and whether the disk is mounted read-only."
      )
    }
  }

  @Test("A writable file in a folder without write permission is reported")
  func readOnlyFolder() throws {
    try fixture.store().close()
    try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: fixture.path)
    try AsNobody.run(in: fixture.folder.path) {
      let path = fixture.path
      #expect(
        errorOpening(path)
          == "SQLite could not open \(path): attempt to write a readonly database (code 1544). The database can be read "
          + "but not written: check the permissions of the file and its folder, and whether the disk is mounted "
          + "read-only."
      )
    }
  }

  @Test("A file that is not a database is refused and stays as it was")
  func garbage() throws {
    let bytes = [UInt8](repeating: 0x2A, count: 5000)
    try fixture.folder.write(bytes, to: "lockstep.db")
    #expect(
      errorOpening(fixture.path)
        == "SQLite could not open \(fixture.path): file is not a database (code 26). The file is not a SQLite database, "
        + "or it is encrypted: name another file, or move this one away."
    )
    #expect(try fixture.folder.contents(of: "lockstep.db") == bytes)
  }

  @Test("A truncated store is reported as damaged")
  func truncated() throws {
    try fixture.store().close()
    let whole = try fixture.folder.contents(of: "lockstep.db")
    try fixture.folder.write(Array(whole.prefix(4096)), to: "lockstep.db")
    #expect(
      errorOpening(fixture.path)
        == "SQLite could not open \(fixture.path): database disk image is malformed (code 11). The file is damaged: "
        + "restore it from a backup, or recover its data with the sqlite3 shell's \".recover\"."
    )
  }

  @Test("A store whose file ends within a page is refused and stays as it was", arguments: [1, 4095])
  func cutWithinPage(missing: Int) throws {
    try fixture.store().close()
    let rest = Array(try fixture.folder.contents(of: "lockstep.db").dropLast(missing))
    try fixture.folder.write(rest, to: "lockstep.db")
    #expect(errorOpening(fixture.path)?.contains("it ends in the middle of a page") == true)
    #expect(try fixture.folder.contents(of: "lockstep.db") == rest)
  }

  @Test(
    "A store that is missing or empty beside its WAL is refused, also by another name, and the WAL stays as it was",
    arguments: ["gone", "empty", "linked"]
  )
  func onlyLog(kind: String) throws {
    let log = Array("what was written last".utf8)
    try fixture.folder.write(log, to: "lockstep.db-wal")
    if kind != "gone" { try fixture.folder.write([], to: "lockstep.db") }
    var path = fixture.path
    if kind == "linked" {
      path = fixture.folder.file("link.db")
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.path)
    }
    #expect(errorOpening(path)?.contains("is missing or empty, but its write-ahead log \(path)-wal") == true)
    #expect(try fixture.folder.contents(of: "lockstep.db-wal") == log)
    #expect(FileManager.default.fileExists(atPath: fixture.path) == (kind != "gone"))
  }

  @Test("A store that another process has locked is reported")
  func locked() throws {
    try fixture.store().close()
    let other = try fixture.sqlite()
    try other.execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
    #expect(
      errorOpening(fixture.path)
        == "SQLite could not open \(fixture.path): database is locked (code 5). Another connection or process has "
        + "locked the database: wait for it or end it, and try again."
    )
    try other.execute("COMMIT")
    _ = try fixture.store()
  }

  // MARK: One server for a store

  @Test("A second server is refused without a change, and can open the store once the first has closed it")
  func secondServer() async throws {
    let store = try fixture.store()
    #expect(
      errorOpening(fixture.path)
        == "Another lockstep is using the store \(fixture.path). Stop it first, or name another file."
    )
    try await store.checkWritable()
    store.close()
    try fixture.store().close()
  }

  @Test("A second server is refused, whatever path leads to the store")
  func secondName() throws {
    let store = try fixture.store()
    let name = fixture.folder.file("other.db")
    try FileManager.default.createSymbolicLink(atPath: name, withDestinationPath: fixture.path)
    #expect(errorOpening(name)?.hasPrefix("Another lockstep is using the store \(fixture.path).") == true)
    store.close()
    try fixture.store(name).close()
  }

  @Test("Read-only programs can read the file while a server uses it")
  func shell() async throws {
    let store = try fixture.store()
    try await store.checkWritable()
    let shell = try SQLiteConnection(path: fixture.path, access: .readOnly, journal: .asFound)
    #expect(try shell.first("SELECT checked_at FROM store") { row in try row[0] as Int } == 1_000_000)
    try await store.writer.write { connection in _ = try connection.run("UPDATE store SET checked_at = 7") }
    #expect(try shell.first("SELECT checked_at FROM store") { row in try row[0] as Int } == 7)
    store.close()
  }

  @Test("After a server was killed, the next one opens the store with all acknowledged writes and erases its WAL")
  func killed() async throws {
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = fixture.path as String] in
      let store = try DurableStore(path: path)
      try await store.writer.write { connection in _ = try connection.run("UPDATE store SET checked_at = 7") }
      kill(getpid(), SIGKILL)
    }
    let store = try fixture.store()
    let checkedAt = try await store.readers.read { connection in
      try connection.first("SELECT checked_at FROM store") { row in try row[0] as Int }
    }
    #expect(checkedAt == 7)
    // The killed server may not have erased it after it had erased a user.
    try await eventually { try fixture.folder.contents(of: "lockstep.db-wal").isEmpty }
    store.close()
  }

  @Test("A lock file that cannot be made is reported")
  func unmakeableLock() throws {
    let lock = fixture.path + "-lock"
    try FileManager.default.createDirectory(atPath: lock, withIntermediateDirectories: false)
    #expect(
      errorOpening(fixture.path)
        == "The file \(lock), which keeps a second server from using the store, cannot be locked: Is a directory. Check "
        + "that this process may write the file and its folder, and that they are on a local disk."
    )
  }

  // MARK: Checking

  @Test("A check writes to the store")
  func check() async throws {
    let store = try fixture.store()
    fixture.clock.advance(by: .seconds(7))
    try await store.checkWritable()
    #expect(try checkedAt() == 1_007_000)
  }

  @Test("The result of a check is shared for a second, and then the store is written again")
  func sharedForASecond() async throws {
    let store = try fixture.store()
    try await store.checkWritable()
    fixture.clock.advance(by: .milliseconds(999))
    try await store.checkWritable()
    #expect(try checkedAt() == 1_000_000)
    fixture.clock.advance(by: .milliseconds(1))
    try await store.checkWritable()
    #expect(try checkedAt() == 1_001_000)
  }

  @Test("Any number of concurrent checks write one transaction")
  func flood() async throws {
    let store = try fixture.store()
    try fixture.sqlite().execute(
      """
      CREATE TABLE writes (number INTEGER PRIMARY KEY) STRICT;
      CREATE TRIGGER count_writes AFTER UPDATE ON store BEGIN INSERT INTO writes VALUES (NULL); END;
      """
    )
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 1...1_000 { group.addTask { try await store.checkWritable() } }
      try await group.waitForAll()
    }
    #expect(try fixture.sqlite().first("SELECT count(*) FROM writes") { row in try row[0] as Int } == 1)
  }

  @Test("A store that cannot be written is reported to all checks within the second, and recovers")
  func notWritable() async throws {
    let store = try fixture.store()
    let other = try fixture.sqlite()
    try other.execute("BEGIN IMMEDIATE")
    let error = try #require(await #expect(throws: StoreError.self) { try await store.checkWritable() })
    #expect(
      error.description
        == "SQLite could not run \"BEGIN IMMEDIATE\" on \(fixture.path): database is locked (code 5). Another "
        + "connection or process has locked the database: wait for it or end it, and try again."
    )
    try other.execute("COMMIT")
    await #expect(throws: error) { try await store.checkWritable() }
    fixture.clock.advance(by: .seconds(1))
    try await store.checkWritable()
  }

  @Test("A store without its row is not writable")
  func rowGone() async throws {
    let store = try fixture.store()
    try fixture.sqlite().execute("DELETE FROM store")
    await #expect(throws: StoreError.inconsistent(path: fixture.path, what: "the table store has 0 rows, not one")) {
      try await store.checkWritable()
    }
  }

  @Test(
    "If the file was moved, deleted or replaced, the store is not ready, although the old file can be written",
    arguments: ["deleted", "moved", "replaced"]
  )
  func replaced(how: String) async throws {
    let store = try fixture.store()
    try await store.checkWritable()
    switch how {
    case "deleted": try FileManager.default.removeItem(atPath: fixture.path)
    case "moved": try FileManager.default.moveItem(atPath: fixture.path, toPath: fixture.folder.file("moved.db"))
    default:
      // Some tools write a new file and then give it the name of the old one.
      try fixture.store(fixture.folder.file("new.db")).close()
      rename(fixture.folder.file("new.db"), fixture.path)
    }
    fixture.clock.advance(by: .seconds(1))
    let error = await #expect(throws: StoreError.self) { try await store.checkWritable() }
    #expect(
      error?.description
        == "The file \(fixture.path) was deleted, moved or replaced after this server had opened it. Writes still go to "
        + "the old file. Stop the server, put the right file at the path, and start the server again."
    )
    store.close()
  }

  @Test("A closed store is a single file, and its checks fail")
  func close() async throws {
    let store = try fixture.store()
    try await store.checkWritable()
    store.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["lockstep.db"])
    fixture.clock.advance(by: .seconds(1))
    await #expect(throws: StoreError.closed) { try await store.checkWritable() }
    await #expect(throws: PoolShutDownError(pool: "writer")) { try await store.writer.write { _ in } }
    await #expect(throws: PoolShutDownError(pool: "reader")) { try await store.readers.read { _ in } }
  }
}
