import Foundation
import Glibc
import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "Replacing a store with a backup",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct StoreRestoreTests {
  private let files: StoreFixture

  init() throws {
    files = try StoreFixture()
  }

  private func backup(_ path: String? = nil) -> StoreBackup {
    StoreBackup(
      of: path ?? files.path,
      throttle: CopyThrottle(bytesPerSecond: nil, elapsed: files.clock.time.elapsed, pause: { _ in })
    )
  }

  /// A closed store, the path of its backup, and the id of the store.
  private func madeBackup() throws -> (path: String, id: String) {
    let store = try files.store()
    // Every server makes this write. A store with a write leaves no WAL behind when it is closed.
    _ = try store.write { try $0.run("UPDATE store SET checked_at = 1") }
    let path = files.folder.file("b.db")
    try backup().write(to: path)
    store.close()
    return (path, store.id)
  }

  private func names(_ prefix: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: files.folder.path).filter { $0.hasPrefix(prefix) }.sorted()
  }

  @Test("The restored store gets a new id and opens, and the backup stays as it was")
  func identity() throws {
    let (path, id) = try madeBackup()
    let before = try files.folder.contents(of: "b.db")
    let target = files.folder.file("new.db")
    let summary = try StoreRestore(to: target).restore(from: path)
    #expect(summary.identity != id && summary.identity.count == 32)
    #expect(try names("new") == ["new.db"])
    let store = try files.store(target)
    #expect(store.id == summary.identity)
    store.close()
    #expect(try files.folder.contents(of: "b.db") == before)
    #expect(try names("b.db") == ["b.db"])
  }

  @Test("An existing store is replaced only if the caller says so, and never while a server uses it")
  func inPlace() throws {
    let (path, _) = try madeBackup()
    let before = try files.folder.contents(of: "lockstep.db")
    #expect(throws: MaintenanceError.exists(path: files.path)) { try StoreRestore(to: files.path).restore(from: path) }
    #expect(try files.folder.contents(of: "lockstep.db") == before)
    let store = try files.store()
    #expect(throws: StoreError.inUse(path: files.path)) {
      try StoreRestore(to: files.path).restore(from: path, overwriting: true)
    }
    store.close()
    let summary = try StoreRestore(to: files.path).restore(from: path, overwriting: true)
    let restored = try files.store()
    #expect(restored.id == summary.identity)
    restored.close()
    #expect(try names("lockstep") == ["lockstep.db"])
  }

  @Test("The restored file gets the owner of the previous store, if the process may set it")
  func owner() throws {
    let (path, _) = try madeBackup()
    let owner: uid_t = geteuid() == 0 ? 65_534 : geteuid()
    #expect(chown(files.path, owner, .max) == 0)
    _ = try StoreRestore(to: files.path).restore(from: path, overwriting: true)
    var status = stat()
    #expect(stat(files.path, &status) == 0)
    #expect(status.st_uid == owner && status.st_mode & 0o777 == 0o600)
  }

  @Test("Without a previous store, the file gets the owner of its folder")
  func ownerOfFolder() throws {
    let (path, _) = try madeBackup()
    let owner: uid_t = geteuid() == 0 ? 65_534 : geteuid()
    let folder = files.folder.file("place")
    #expect(mkdir(folder, 0o700) == 0 && chown(folder, owner, .max) == 0)
    _ = try StoreRestore(to: folder + "/new.db").restore(from: path)
    var status = stat()
    #expect(stat(folder + "/new.db", &status) == 0)
    #expect(status.st_uid == owner && status.st_mode & 0o777 == 0o600)
  }

  /// A manual change of a backup, and the text of the error.
  private static let changes: [(sql: String, words: String)] = [
    (
      "CREATE TRIGGER evil AFTER UPDATE ON store BEGIN DELETE FROM users; END",
      "the trigger evil is not one that Lockstep creates"
    ),
    ("CREATE VIEW extra AS SELECT * FROM users", "the view extra is not one that Lockstep creates"),
    ("CREATE TABLE extra (a INTEGER)", "the table extra is not one that Lockstep creates"),
    ("DROP TABLE removals", "the table removals is missing"),
    ("DROP TABLE removals; CREATE VIEW removals AS SELECT 1", "the view removals is not as Lockstep creates it"),
    ("ALTER TABLE list_elements ADD COLUMN extra TEXT", "the table list_elements is not as Lockstep creates it"),
    ("DROP TABLE modules; CREATE VIEW modules AS SELECT 1", "the table modules is not as Lockstep creates it"),
    ("DELETE FROM store", "the table store has 0 rows, not one"),
    (
      "INSERT INTO registered_defaults (suite, key, revision, value, at) VALUES ('s', 'k', 1, CAST(x'22ff22' AS TEXT), 0)",
      "registered_defaults: a text in the column value is not UTF-8"
    ),
  ]

  @Test("A backup that was changed manually is refused, and the check finds the change too", arguments: changes.indices)
  func changed(index: Int) throws {
    let (sql, words) = Self.changes[index]
    let (path, _) = try madeBackup()
    let before = try files.folder.contents(of: "lockstep.db")
    try files.sqlite(path).execute(sql)
    #expect(throws: MaintenanceError.damaged(path: path, what: words)) {
      try StoreRestore(to: files.path).restore(from: path, overwriting: true)
    }
    #expect(try files.folder.contents(of: "lockstep.db") == before)
    let report = try StoreCheck(of: path).run()
    #expect(report.isDamaged && report.findings.contains { $0.what == words }, "\(report.findings)")
  }

  @Test("A store is intact after ANALYZE")
  func analyzed() throws {
    let (path, _) = try madeBackup()
    try files.sqlite(path).execute("ANALYZE")
    _ = try StoreRestore(to: files.path).restore(from: path, overwriting: true)
    #expect(try !StoreCheck(of: files.path).run().isDamaged)
  }

  @Test("If a restore is cut off, a read-only connection can still read the old store")
  func readable() throws {
    let (path, _) = try madeBackup()
    let killed = files.folder.file("killed.db")
    let writer = try SQLiteConnection(path: files.path)
    try writer.run("UPDATE store SET checked_at = 2")
    for suffix in ["", "-wal"] {
      try files.folder.write(try files.folder.contents(of: "lockstep.db\(suffix)"), to: "killed.db\(suffix)")
    }
    try StoreRestore(to: killed).clearPlace(killed)
    #expect(try names("killed") == ["killed.db"])
    // The header still says WAL, so the file was not rewritten through a rollback journal.
    #expect(try files.folder.contents(of: "killed.db")[18...19] == [2, 2])
    let old = try SQLiteConnection(path: killed, access: .readOnly, journal: .asFound)
    #expect(try old.first("SELECT checked_at FROM store") { row in try row[0] as Int } == 2)
    withExtendedLifetime((path, writer)) {}
  }

  @Test("If a reader prevents the checkpoint of the old store, a restore is refused, and the last commit stays")
  func oldStoreIsRead() throws {
    let (path, _) = try madeBackup()
    let writer = try SQLiteConnection(path: files.path)
    let reader = try SQLiteConnection(path: files.path, access: .readOnly)
    try writer.run("UPDATE store SET checked_at = 2")
    try reader.execute("BEGIN; SELECT count(*) FROM users")
    try writer.run("UPDATE store SET checked_at = 3")
    func restore() throws { _ = try StoreRestore(to: files.path).restore(from: path, overwriting: true) }
    let place = try #require(realPath(files.path))
    #expect(throws: StoreError.inUse(path: place)) { try restore() }
    // The store as it is if the process ends here.
    for suffix in ["", "-wal"] {
      try files.folder.write(try files.folder.contents(of: "lockstep.db\(suffix)"), to: "left.db\(suffix)")
    }
    let left = try SQLiteConnection(path: files.folder.file("left.db"))
    #expect(try left.first("SELECT checked_at FROM store") { row in try row[0] as Int } == 3)
    try reader.execute("COMMIT")
    try restore()
    withExtendedLifetime(writer) {}
  }

  @Test("The WAL that a killed server left behind is removed with its file")
  func oldLog() throws {
    let (path, id) = try madeBackup()
    // A killed server leaves this behind: its last writes are only in the WAL.
    let killed = files.folder.file("killed.db")
    let writer = try SQLiteConnection(path: files.path)
    try writer.run("UPDATE store SET id = ?", String(repeating: "f", count: 32))
    for suffix in ["", "-wal"] {
      try files.folder.write(try files.folder.contents(of: "lockstep.db\(suffix)"), to: "killed.db\(suffix)")
    }
    #expect(try !files.folder.contents(of: "killed.db-wal").isEmpty)
    let summary = try StoreRestore(to: killed).restore(from: path, overwriting: true)
    #expect(try names("killed") == ["killed.db"])
    #expect(try files.sqlite(killed).first("SELECT id FROM store") { row in try row[0] as String } == summary.identity)
    #expect(summary.identity != id)
    withExtendedLifetime(writer) {}
  }

  @Test(
    "A damaged, foreign or newer backup is refused, and the store stays as it was",
    arguments: ["damaged", "other", "newer", "none", "orphan", "itself"]
  )
  func refused(kind: String) throws {
    let (path, _) = try madeBackup()
    let before = try files.folder.contents(of: "lockstep.db")
    let restore = StoreRestore(to: files.path)
    switch kind {
    case "damaged":
      var bytes = try files.folder.contents(of: "b.db")
      for place in bytes.count - 4096..<bytes.count { bytes[place] = 0xFF }
      try files.folder.write(bytes, to: "b.db")
      let error = #expect(throws: MaintenanceError.self) { try restore.restore(from: path, overwriting: true) }
      #expect(error?.isDamage(of: path) == true, "\(String(describing: error))")
    case "other":
      try files.sqlite(files.folder.file("o.db")).execute("CREATE TABLE t (a INTEGER)")
      #expect(throws: StoreError.notAStore(path: files.folder.file("o.db"))) {
        try restore.restore(from: files.folder.file("o.db"), overwriting: true)
      }
    case "newer":
      try files.sqlite(path).execute("PRAGMA user_version = 1000")
      #expect(throws: StoreError.newerSchema(path: path, found: 1000, known: Migrator().last)) {
        try restore.restore(from: path, overwriting: true)
      }
    case "none":
      #expect(throws: MaintenanceError.missing(path: files.folder.file("x"))) {
        try restore.restore(from: files.folder.file("x"), overwriting: true)
      }
    case "orphan":
      let copy = try files.sqlite(path)
      try copy.execute("PRAGMA foreign_keys = OFF")
      try copy.run(
        "INSERT INTO map_values (user_id, collection, key, value, revision) VALUES ('unknown', 'profile', 'position', '\"x\"', 1)"
      )
      let error = #expect(throws: MaintenanceError.self) { try restore.restore(from: path, overwriting: true) }
      #expect(
        error == .damaged(path: path, what: "row of map_values refers to a missing row of users")
      )
    default:
      #expect(throws: MaintenanceError.sameFile(path: files.path)) {
        try restore.restore(from: files.folder.path + "/./lockstep.db", overwriting: true)
      }
    }
    #expect(try files.folder.contents(of: "lockstep.db") == before)
    let left = try names("lockstep")
    #expect(left == ["lockstep.db"])
    try files.store().close()
  }

  @Test(
    "After a restore, clients with an old cursor get a reset; sessions and service tokens end if requested",
    arguments: [true, false]
  )
  func cursors(endingSessions: Bool) async throws {
    try await ServerFixture.administered { users in
      let ada = try await users.signUp()
      try await ada.addFavorites("kept")
      let robot = try await users.service("robot", "read")
      let cursor = try #require(try await ada.get("/v1/changes?since=now").cursor)
      let (store, copy) = (users.directory.file("lockstep.db"), users.directory.file("b.db"))
      try StoreBackup(of: store, throttle: backup().throttle).write(to: copy)
      try await ada.addFavorites("lost")
      #expect(try await users.admin.delete("/v1/admin/tokens/\(robot.session)").status == 204)
      await users.stop()
      _ = try StoreRestore(to: store).restore(from: copy, overwriting: true, endingSessions: endingSessions)
      try await users.restart()
      if endingSessions { #expect(try await ada.get("/v1/favorites").status == 401) }
      #expect(try await robot.get("/v1/admin/users").status == (endingSessions ? 401 : 200))
      let again = endingSessions ? try await users.logIn() : ada
      #expect(try await again.favoriteIDs() == ["kept"])
      // A cursor with the same time as the backup, from another store.
      let changes = try await again.get("/v1/changes?since=\(cursor)").json
      #expect(changes["reset"]?.boolValue == true)
    }
  }
}
