import LockstepMigrations
import LockstepSQLite
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("The migrator", .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly), .timeLimit(.minutes(10)))
struct MigratorTests {
  private let fixture: StoreFixture
  private let second = Migration(number: 2, name: "0002_notes", sql: "CREATE TABLE notes (text TEXT) STRICT;")

  init() throws {
    fixture = try StoreFixture()
  }

  private func open(_ migrations: [Migration] = Array(Migration.all.prefix(1))) throws(StoreError) {
    try fixture.store(migrator: Migrator(migrations)).close()
  }

  /// The first migration, followed by these.
  private func withFirst(_ others: Migration...) -> [Migration] { Array(Migration.all.prefix(1)) + others }

  private func refusal(_ migrations: [Migration] = Array(Migration.all.prefix(1))) throws -> String? {
    let before = try fixture.folder.contents(of: "lockstep.db")
    let error = #expect(throws: StoreError.self) { try self.open(migrations) }
    #expect(try fixture.folder.contents(of: "lockstep.db") == before, "a refused store stays as it was")
    return error?.description
  }

  private func change(_ script: String) throws {
    try fixture.sqlite().execute(script)
  }

  @Test("A new store gets all migrations, and records each with its checksum")
  func new() throws {
    try open(withFirst(second))
    let connection = try fixture.sqlite()
    let rows = try connection.all("SELECT name, checksum, applied_at FROM migrations ORDER BY number") { row in
      [try row[0] as String, try row[1] as String, "\(try row[2] as Int)"]
    }
    #expect(rows.map { $0[0] } == ["0001_store", "0002_notes"])
    #expect(rows[1][1] == "2d89b113da64eb17f635deb62c6a62e28c32c285f49d2ab7ee091f1b5a575b87")
    #expect(rows.map { $0[2] } == ["1000000", "1000000"])
    #expect(try connection.first("PRAGMA user_version") { row in try row[0] as Int } == 2)
    #expect(try connection.first("PRAGMA application_id") { row in try row[0] as Int } == Migrator.applicationID)
  }

  @Test("Migrations overwrite what they delete")
  func secureDelete() throws {
    // The setting stays as the migration leaves it, so it was made before the migration.
    let off = Migration(number: 2, name: "0002_off", sql: "PRAGMA secure_delete = OFF")
    let store = try fixture.store(migrator: Migrator(withFirst(off)))
    defer { store.close() }
    #expect(try store.write { try $0.first("PRAGMA secure_delete") { row in try row[0] as Int } } == 0)
    let other = try StoreFixture()
    let usual = try other.store()
    defer { usual.close() }
    #expect(try usual.write { try $0.first("PRAGMA secure_delete") { row in try row[0] as Int } } == 1)
  }

  @Test("A checksum is SHA-256 in hexadecimal")
  func checksums() {
    #expect(checksum(of: "") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(checksum(of: "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
  }

  @Test("An older store gets the missing migrations and keeps its data")
  func behind() throws {
    try open()
    fixture.clock.advance(by: .seconds(1))
    try open(withFirst(second))
    let times = try fixture.sqlite().all("SELECT applied_at FROM migrations ORDER BY number") { row in
      try row[0] as Int
    }
    #expect(times == [1_000_000, 1_001_000])
  }

  @Test("If a migration fails, the store stays as it was before all of them")
  func failing() throws {
    try open()
    let third = Migration(number: 3, name: "0003_wrong", sql: "CREATE TABLE notes (text TEXT) STRICT;")
    #expect(
      try refusal(withFirst(second, third))
        == "SQLite could not run \"CREATE TABLE notes (text TEXT) STRICT;\" on \(fixture.path): "
        + "table notes already exists (code 1)."
    )
    try open(withFirst(second))
  }

  @Test("If the first migration fails, the file stays empty, and the next start uses it")
  func failingAtFirst() throws {
    #expect(throws: StoreError.self) { try self.open(self.withFirst(self.second, self.second)) }
    #expect(try fixture.sqlite().first("SELECT count(*) FROM sqlite_schema") { row in try row[0] as Int } == 0)
    try open()
  }

  @Test("A migration cannot end the transaction that all of them share")
  func ownTransaction() throws {
    try open()
    let commit = Migration(number: 2, name: "0002_commit", sql: "CREATE TABLE notes (text TEXT) STRICT; COMMIT;")
    let error = #expect(throws: StoreError.self) { try self.open(self.withFirst(commit)) }
    #expect(error?.description.contains("no transaction is open any more") == true)
  }

  @Test("A changed migration is refused")
  func changed() throws {
    try open(withFirst(second))
    let other = Migration(number: 2, name: "0002_notes", sql: second.sql + "\n")
    #expect(
      try refusal(withFirst(other))
        == "The migration 2 (0002_notes) of this lockstep has another text than the one that was applied to the store "
        + "\(fixture.path). Run the lockstep that applied it. Or restore the migration's text, and make the change in a "
        + "new migration."
    )
  }

  @Test("A migration of another branch is refused")
  func unknown() throws {
    try open(withFirst(second))
    let other = Migration(number: 2, name: "0002_tags", sql: "CREATE TABLE tags (text TEXT) STRICT;")
    #expect(
      try refusal(withFirst(other))
        == "This lockstep does not know the migration 2 (0002_notes), which was applied to the store \(fixture.path). "
        + "Run the lockstep that applied it."
    )
  }

  @Test("A schema that is newer than the program is refused")
  func newer() throws {
    try open(withFirst(second))
    #expect(
      try refusal(withFirst())
        == "The store \(fixture.path) has schema 2, and this lockstep knows schemas up to 1. A newer lockstep has used "
        + "the store. Run that version, or restore a backup from before the upgrade."
    )
  }

  @Test(
    "Another program's database is not touched, not even switched to WAL",
    arguments: [
      "CREATE TABLE contacts (name TEXT)", "PRAGMA application_id = 7", "PRAGMA user_version = 1",
      "PRAGMA application_id = 7; CREATE TABLE migrations (number INTEGER); CREATE TABLE store (id TEXT)",
    ]
  )
  func foreign(script: String) throws {
    try change(script)
    #expect(
      try refusal()
        == "\(fixture.path) is a SQLite database, but not a Lockstep store. Nothing was changed. Name another file, "
        + "or move this one away."
    )
    #expect(try fixture.sqlite().first("PRAGMA journal_mode") { row in try row[0] as String } == "delete")
  }

  @Test(
    "A store that was changed manually is refused",
    arguments: [
      ("DELETE FROM migrations", "its schema version is 1, but its recorded migrations are none"),
      ("PRAGMA user_version = 0", "its schema version is 0, but its recorded migrations are 1"),
      (
        "INSERT INTO migrations VALUES (3, '0003_x', '', 0)",
        "its schema version is 1, but its recorded migrations are 1, 3"
      ),
      ("DROP TABLE migrations", "it has no table of migrations"),
    ]
  )
  func inconsistent(script: String, what: String) throws {
    try open()
    try change(script)
    #expect(
      try refusal()
        == "The store \(fixture.path) contradicts itself: \(what). It is damaged or was changed by hand. Restore a backup."
    )
  }
}
