import LockstepMigrations
import LockstepSQLite
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "The migrations of a store's modules",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct ModuleMigratorTests {
  private static let column = "user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE"
  private static let first = Migration(number: 1, name: "0001_notes", sql: "CREATE TABLE notes (\(column)) STRICT;")
  private static let second = Migration(number: 2, name: "0002_text", sql: "ALTER TABLE notes ADD COLUMN text TEXT;")
  private let fixture: StoreFixture

  init() throws {
    fixture = try StoreFixture()
  }

  private static func notes(_ migrations: Migration..., kind: CollectionMutation.Kind = .list) -> ModuleSchema {
    ModuleSchema(name: "notes", kind: kind, migrations: migrations)
  }

  private func open(_ modules: ModuleSchema...) throws(StoreError) {
    try fixture.store(migrator: Migrator(modules: modules)).close()
  }

  private func refusal(_ modules: ModuleSchema...) throws -> String? {
    let before = try fixture.folder.contents(of: "lockstep.db")
    let error = #expect(throws: StoreError.self) { try fixture.store(migrator: Migrator(modules: modules)).close() }
    #expect(try fixture.folder.contents(of: "lockstep.db") == before, "a refused store stays as it was")
    return error?.description
  }

  private var applied: [String] {
    get throws {
      try fixture.sqlite().all("SELECT module || '/' || number || '/' || name FROM module_migrations ORDER BY 1") {
        row in
        try row[0]
      }
    }
  }

  @Test("Migrations of a module are applied once each, in order, for a new module and for a newer one")
  func steps() throws {
    try open()
    try open(Self.notes(Self.first))
    try open(Self.notes(Self.first))
    #expect(try applied == ["notes/1/0001_notes"])
    try open(Self.notes(Self.first, Self.second), ModuleSchema(name: "scores", kind: .map, migrations: []))
    #expect(try applied == ["notes/1/0001_notes", "notes/2/0002_text"])
    let known = try fixture.sqlite().all("SELECT name || ' ' || kind FROM modules ORDER BY name") {
      try $0[0] as String
    }
    #expect(known == ["notes list", "scores map"])
  }

  @Test("A store is refused if the server lacks a module that it was served with")
  func missing() throws {
    try open(Self.notes())
    #expect(
      try refusal()
        == "The store \(fixture.path) was served with the module notes, which this server does not have. "
        + "Responses would not contain the module's state, and its history would be lost. Run a server that has the "
        + "module."
    )
  }

  @Test("A list cannot become a map")
  func otherKind() throws {
    try open(Self.notes())
    #expect(
      try refusal(Self.notes(kind: .map))
        == "The module notes is a list in the store \(fixture.path), but not in this server. Run the server that created "
        + "the store, or give the module another name."
    )
  }

  @Test("A changed migration, a renamed one and an unknown one are refused")
  func unfit() throws {
    try open(Self.notes(Self.first, Self.second))
    let changed = Migration(number: 2, name: "0002_text", sql: Self.second.sql + "\n")
    #expect(
      try refusal(Self.notes(Self.first, changed))?.contains("migration 2 (notes/0002_text) of this") == true
    )
    let other = Migration(number: 2, name: "0002_more", sql: Self.second.sql + "\n")
    #expect(try refusal(Self.notes(Self.first, other))?.contains("not know the migration 2 (notes/0002_text)") == true)
    #expect(
      try refusal(Self.notes(Self.first))
        == "The store \(fixture.path) has schema 2 of the module notes, and this lockstep knows schemas up to 1. "
        + "A newer lockstep has used the store. Run that version, or restore a backup from before the upgrade."
    )
  }

  @Test("Missing records of migrations are noticed")
  func inconsistent() throws {
    try open(Self.notes(Self.first, Self.second))
    try fixture.sqlite().execute("DELETE FROM module_migrations WHERE number = 1")
    let refusal = try refusal(Self.notes(Self.first, Self.second))
    #expect(
      refusal?.contains("the recorded migrations of its module notes are 2, and one before them is missing.") == true
    )
  }

  @Test(
    "A table that would keep rows of erased users is refused and not made",
    arguments: ["user_id TEXT NOT NULL", "user_id TEXT NOT NULL REFERENCES users (id)"]
  )
  func outliving(column: String) throws {
    try open()
    let step = Migration(number: 1, name: "0001_notes", sql: "CREATE TABLE notes (\(column)) STRICT;")
    #expect(
      try refusal(Self.notes(step))
        == "The table notes of the store \(fixture.path) would keep rows of erased users. Nothing was changed. "
        + "Declare its column: user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE."
    )
    #expect(try fixture.sqlite().first("SELECT 1 FROM sqlite_schema WHERE name = 'notes'") { _ in true } == nil)
  }

  @Test("If a migration of a module fails, the store stays as it was")
  func failing() throws {
    try open()
    #expect(try refusal(Self.notes(Self.first, Self.first)) != nil)
  }
}
