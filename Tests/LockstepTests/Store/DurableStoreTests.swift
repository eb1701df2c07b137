import Foundation
import Lockstep
import SQLite
import TestSupport
import Testing

@Suite("The durable store")
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

  @Test("A new store has the schema, an identity, and is for its owner only")
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

  @Test("A store keeps its identity, and two stores differ")
  func identity() throws {
    let store = try fixture.store()
    store.close()
    #expect(try fixture.store().id == store.id)
    #expect(try fixture.store(fixture.folder.file("other.db")).id != store.id)
  }

  @Test("The identity is made of the random numbers that are handed in")
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

  @Test("A folder that does not exist")
  func missingFolder() {
    let path = fixture.folder.file("none/lockstep.db")
    #expect(
      errorOpening(path)
        == "SQLite could not open \(path): cannot create the file: No such file or directory (code 14). Check that the "
        + "folder exists, and that this process may read and write the file and its folder."
    )
  }

  @Test("A folder that may not be written")
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

  @Test("A file that may only be read")
  func readOnlyFile() throws {
    try fixture.store().close()
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: fixture.path)
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

  @Test("A file that is something else is left as it is")
  func garbage() throws {
    let bytes = [UInt8](repeating: 0x2A, count: 5000)
    try fixture.folder.write(bytes, to: "lockstep.db")
    #expect(
      errorOpening(fixture.path)
        == "SQLite could not open \(fixture.path): file is not a database (code 26). The file is no SQLite database, "
        + "or an encrypted one: name another file, or move this one out of the way."
    )
    #expect(try fixture.folder.contents(of: "lockstep.db") == bytes)
  }

  @Test("A store that was cut off")
  func truncated() throws {
    try fixture.store().close()
    let whole = try fixture.folder.contents(of: "lockstep.db")
    try fixture.folder.write(Array(whole.prefix(4096)), to: "lockstep.db")
    #expect(
      errorOpening(fixture.path)
        == "SQLite could not open \(fixture.path): database disk image is malformed (code 11). The file is damaged: "
        + "restore it from a backup, or save what can be saved with the sqlite3 shell's \".recover\"."
    )
  }

  @Test("A store that another process has locked")
  func locked() throws {
    try fixture.store().close()
    let other = try fixture.sqlite()
    try other.execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
    #expect(
      errorOpening(fixture.path)
        == "SQLite could not open \(fixture.path): database is locked (code 5). Another connection or process has "
        + "locked the database: wait until it is done, or end it, and try again."
    )
    try other.execute("COMMIT")
    _ = try fixture.store()
  }

  // MARK: Checking

  @Test("A check writes")
  func check() async throws {
    let store = try fixture.store()
    fixture.clock.advance(by: .seconds(7))
    try await store.checkWritable()
    #expect(try checkedAt() == 1_007_000)
  }

  @Test("An answer is shared for a second, then the store is written again")
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

  @Test("However many ask at once, one transaction is written for all of them")
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

  @Test("A store that can't be written says so, also to who asks within the second, and recovers")
  func notWritable() async throws {
    let store = try fixture.store()
    let other = try fixture.sqlite()
    try other.execute("BEGIN IMMEDIATE")
    let error = try #require(await #expect(throws: StoreError.self) { try await store.checkWritable() })
    #expect(
      error.description
        == "SQLite could not run \"BEGIN IMMEDIATE\" on \(fixture.path): database is locked (code 5). Another "
        + "connection or process has locked the database: wait until it is done, or end it, and try again."
    )
    try other.execute("COMMIT")
    await #expect(throws: error) { try await store.checkWritable() }
    fixture.clock.advance(by: .seconds(1))
    try await store.checkWritable()
  }

  @Test("A store whose one row is gone is not writable")
  func rowGone() async throws {
    let store = try fixture.store()
    try fixture.sqlite().execute("DELETE FROM store")
    await #expect(throws: StoreError.inconsistent(path: fixture.path, what: "the table store has 0 rows, not one")) {
      try await store.checkWritable()
    }
  }

  @Test("A closed store is one file, and says that it is closed")
  func close() async throws {
    let store = try fixture.store()
    try await store.checkWritable()
    store.close()
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["lockstep.db"])
    fixture.clock.advance(by: .seconds(1))
    await #expect(throws: StoreError.closed) { try await store.checkWritable() }
  }
}
