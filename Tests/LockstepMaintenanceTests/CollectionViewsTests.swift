import LockstepJSON
import LockstepMaintenance
import LockstepMigrations
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepModules
@testable import LockstepStore

@Suite(
  "The views of collections for people",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct CollectionViewsTests {
  private static let fixed = ["defaults", "favorites", "heads", "profiles"]
  private static let path = "/v1/admin/collections"

  private static func views(_ connection: SQLiteConnection) throws -> [String] {
    try connection.all("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY name") { try $0[0] as String }
      .filter { !fixed.contains($0) }
  }

  private static func views(_ users: ServerFixture) throws -> [String] {
    try views(SQLiteConnection(path: users.directory.file("lockstep.db"), journal: .asFound))
  }

  /// Closes the store, and returns what a check finds.
  private static func findings(_ users: ServerFixture, _ modules: [UserModule] = []) async throws -> [String] {
    await users.stop()
    return try StoreCheck(of: users.directory.file("lockstep.db"), modules: modules).run().findings.map(\.what)
  }

  @Test("Each declared collection and each module in code has a view with its name, as long as it exists")
  func collections() async throws {
    let modules = [UserModule.notes, .scores]
    try await ServerFixture.run({ $0.administratorToken = ServerFixture.administrator }, modules: modules) { users in
      for (name, kind) in [("playList", "list"), ("scoresByDay", "map"), ("other", "map")] {
        #expect(try await users.admin.put("\(Self.path)/\(name)", #"{"kind":"\#(kind)"}"#).status == 201)
      }
      #expect(try Self.views(users) == ["notes", "other", "playList", "scores", "scoresByDay"])
      let ada = try await users.signUp()
      #expect(try await ada.put("/v1/playList/s", #"{"data":1}"#).status == 201)
      #expect(try await ada.put("/v1/scoresByDay/k", "2").status == 201)
      #expect(try await ada.put("/v1/notes/n", #"{"text":"one"}"#).status == 201)
      let item = #"json_extract(element, '$.id') = id AND rank = 0 AND revision >> 20"#
      #expect(try await users.rows("SELECT user_id, id, \(item) FROM playList") == [[ada.user, "s", "1"]])
      #expect(try await users.rows("SELECT user_id, id FROM notes") == [[ada.user, "n"]])
      #expect(
        try await users.rows("SELECT user_id, key, value, revision >> 20 FROM scoresByDay") == [
          [ada.user, "k", "2", "2"]
        ]
      )
      #expect(try await users.admin.delete("\(Self.path)/other").status == 204)
      #expect(try await users.admin.put("\(Self.path)/other", #"{"kind":"list"}"#).status == 201)
      #expect(try await users.rows("SELECT id FROM other") == [])
      #expect(try await users.admin.delete("\(Self.path)/other").status == 204)
      #expect(try Self.views(users) == ["notes", "playList", "scores", "scoresByDay"])
      #expect(try await Self.findings(users, modules) == [])
      try await users.restart()
      #expect(try Self.views(users) == ["notes", "playList", "scores", "scoresByDay"])
    }
  }

  @Test("A collection whose name SQLite or the store uses can be declared, and has no view")
  func taken() async throws {
    try await ServerFixture.administered { users in
      let names = ["heads", "store", "removals", "thingstodo", "thingsToDo"]
      for name in names {
        #expect(try await users.admin.put("\(Self.path)/\(name)", #"{"kind":"list"}"#).status == 201)
      }
      #expect(try Self.views(users) == ["thingsToDo"])
      let ada = try await users.signUp()
      for name in names { #expect(try await ada.put("/v1/\(name)/a", #"{"data":1}"#).status == 201) }
      // Its view is free for the other one.
      #expect(try await users.admin.delete("\(Self.path)/thingsToDo?erase=true").status == 204)
      #expect(try Self.views(users) == ["thingstodo"])
      #expect(try await Self.findings(users) == [])
      try await users.restart()
    }
  }

  @Test("A check finds a view that is missing, changed or not one of a collection")
  func changed() async throws {
    for (sql, finding) in [
      ("DROP VIEW things", "the view things is missing"),
      ("DROP VIEW things; CREATE VIEW things AS SELECT 1", "the view things is not as Lockstep creates it"),
      ("CREATE VIEW others AS SELECT 1", "the view others is not one that Lockstep creates"),
    ] {
      try await ServerFixture.administered { users in
        #expect(try await users.admin.put("\(Self.path)/things", #"{"kind":"list"}"#).status == 201)
        await users.stop()
        let store = try SQLiteConnection(path: users.directory.file("lockstep.db"), journal: .asFound)
        try store.execute(sql)
        #expect(try await Self.findings(users) == [finding])
        try await users.restart()
      }
    }
  }

  @Test("A table of a later migration may have the name of a collection, which then has no view")
  func migration() throws {
    let fixture = try StoreFixture()
    try fixture.store(migrator: Migrator(modules: [.notes, .scores])).close()
    #expect(try Self.views(fixture.sqlite()) == ["notes", "scores"])
    let next = Migration(number: Migration.all.count + 1, name: "next", sql: "CREATE TABLE notes (a INTEGER) STRICT;")
    let migrator = Migrator(Migration.all + [next], modules: [.notes, .scores])
    for _ in 0..<2 {
      try fixture.store(migrator: migrator).close()
      #expect(try Self.views(fixture.sqlite()) == ["scores"])
      #expect(try migrator.schemaFaults(of: fixture.sqlite()) == [])
    }
  }

  @Test("Of many collections, the first ones by name have a view")
  func many() throws {
    let fixture = try StoreFixture()
    try fixture.store().close()
    let names = (0..<300).map { "c\(1000 + $0)" }
    let declarations = names.map { "('\($0)', '{\"kind\":\"map\"}', 1, 0)" }.joined(separator: ", ")
    try fixture.sqlite().execute("INSERT INTO declared_collections VALUES \(declarations)")
    try fixture.store().close()
    #expect(try Self.views(fixture.sqlite()) == Array(names.prefix(CollectionViews.limit)))
    #expect(try Migrator().schemaFaults(of: fixture.sqlite()) == [])
  }

  @Test("Names that SQLite uses have no view, and names that no collection can have do not get into SQL")
  func hostile() throws {
    let fixture = try StoreFixture()
    try fixture.store().close()
    let connection = try fixture.sqlite()
    let names = [
      "", "a b", "sqlite_x", "json_each", "pragma_table_info", "x\" AS SELECT 1; DROP TABLE users; --",
      "x'; DROP TABLE users; --", "\u{E9}", "\u{212A}",
    ]
    for name in names {
      try connection.run("INSERT INTO declared_collections VALUES (?, '{\"kind\":\"map\"}', 1, 0)", name)
    }
    try fixture.store().close()
    #expect(try Self.views(connection) == [])
    #expect(try Migrator().schemaFaults(of: connection) == [])
  }
}
