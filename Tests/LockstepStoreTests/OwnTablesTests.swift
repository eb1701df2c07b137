import Foundation
import LockstepMaintenance
import LockstepMigrations
import LockstepSQLite
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "A store whose module has a table of its own",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct OwnTablesTests {
  private static let element = #"{"id":"a","text":"\"one\"","madeAt":"1994-11-06T08:49:37.000Z"}"#
  private let fixture: StoreFixture
  private let migrator = Migrator(modules: [.notes])

  /// The store of a server of version 0.2, with one note.
  init() throws {
    fixture = try StoreFixture()
    try fixture.store(migrator: Migrator(Array(Migration.all.prefix(16)), modules: [.notes])).close()
    let user = "01890000-0000-7000-8000-000000000001"
    let added = #"[{"type":"inserted","payload":{"index":0,"item":\#(Self.element)}}]"#
    try fixture.sqlite().execute(
      """
      INSERT INTO users (id, password_version, password_changed_at, created_at) VALUES ('\(user)', 1, 0, 0);
      CREATE TABLE notes (
        user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE, id TEXT NOT NULL, text TEXT NOT NULL,
        made_at TEXT NOT NULL, rank INTEGER NOT NULL, revision INTEGER NOT NULL, PRIMARY KEY (user_id, id)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO notes VALUES ('\(user)', 'a', '"one"', '1994-11-06T08:49:37.000Z', 0, 1 << 20);
      INSERT INTO module_migrations VALUES ('notes', 1, '0001_notes', '', 0);
      INSERT INTO journal (user_id, revision, position, written, collection, at, action, mutations)
      VALUES ('\(user)', 1 << 20, 0, \(2 + added.utf8.count), 'notes', 0, '{}', '\(added)');
      """
    )
  }

  @Test("It is refused with a sentence, and stays as it was")
  func refused() throws {
    let before = try fixture.folder.contents(of: "lockstep.db")
    let error = #expect(throws: StoreError.self) { try fixture.store(migrator: migrator).close() }
    #expect(
      error?.description
        == "The module notes has tables of its own in the store \(fixture.path), which this lockstep does not support. "
        + "Nothing was changed. Move their rows into the table list_elements or map_values with the sqlite3 shell: "
        + "docs/upgrading.md has the statements. Or run the lockstep before this one, and save the users' elements with "
        + "lockstep user export."
    )
    #expect(throws: StoreError.ownTables(path: fixture.path, module: "notes")) {
      try StoreCheck(of: fixture.path, modules: [.notes]).run()
    }
    #expect(try fixture.folder.contents(of: "lockstep.db") == before)
  }

  @Test("After the statements in docs/upgrading.md, it has the elements and their history")
  func moved() throws {
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let guide = try String(contentsOfFile: root + "/docs/upgrading.md", encoding: .utf8)
    let blocks = guide.components(separatedBy: "```sql\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    #expect(blocks.count == 1)
    try fixture.sqlite().execute(blocks[0])
    try fixture.store(migrator: migrator).close()
    let elements = try fixture.sqlite().all("SELECT element FROM list_elements") { try $0[0] as String }
    #expect(elements == [Self.element])
    let report = try StoreCheck(of: fixture.path, modules: [.notes]).run()
    #expect(report.findings == [] && report.isWhole)
  }
}
