import LockstepCollections
import LockstepJSON
import LockstepMaintenance
import LockstepMigrations
import LockstepSQLite
import LockstepStore
import LockstepTestSupport
import Testing

@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite(
  "A map module with a table of its own",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteTables),
  .timeLimit(.minutes(10))
)
struct OwnMapTableTests {
  /// Stores the map in the table `points`.
  private struct PointsTable: MapTable {
    let migrations = [
      Migration(
        number: 1,
        name: "0001_points",
        sql: """
          CREATE TABLE points (
            user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
            key      TEXT NOT NULL,
            value    TEXT NOT NULL,
            revision INTEGER NOT NULL,
            PRIMARY KEY (user_id, key)
          ) STRICT, WITHOUT ROWID;
          """
      )
    ]

    func rows(of user: UserID, in connection: SQLiteConnection) throws -> [MapRow] {
      try connection.all("SELECT key, value, revision FROM points WHERE user_id = ?", user) { row in
        let text: String = try row[1]
        return MapRow(key: try row[0], value: try JSON(parsing: Array(text.utf8)), revision: try row[2])
      }
    }

    func put(_ row: MapRow, of user: UserID, in connection: SQLiteConnection) throws {
      let text = String(decoding: row.value.encoded(), as: UTF8.self)
      try connection.run("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?)", user, row.key, text, row.revision)
    }

    func remove(_ key: String, of user: UserID, in connection: SQLiteConnection) throws {
      try connection.run("DELETE FROM points WHERE user_id = ? AND key = ?", user, key)
    }

    func removeAll(of user: UserID, in connection: SQLiteConnection) throws {
      try connection.run("DELETE FROM points WHERE user_id = ?", user)
    }
  }

  private static let points = UserModule.map(
    "points",
    table: PointsTable(),
    actions: [
      ActionCase("set", .name("key"), .json("value", bytes: 20)) { .set(key: $0, value: $1) },
      ActionCase("remove", .name("key")) { .remove(key: $0) },
      ActionCase("clear") { .clear },
    ],
    verbs: [.put: "set", .delete: "remove"]
  ) { _ in ScoresReactor() }

  @Test("Its rows are what clients see, also after a restart, a removal and a clearing")
  func rows() async throws {
    try await ServerFixture.run(modules: [Self.points]) { users in
      let ada = try await users.signUp()
      let bob = try await users.signUp("bob")
      for (key, value) in [("a", "1"), ("b", #""two""#), ("a", "3"), ("c", "4")] {
        #expect(try await ada.put("/v1/points/\(key)", value).status < 300)
      }
      #expect(try await bob.put("/v1/points/a", "9").status == 201)
      #expect(try await ada.delete("/v1/points/c").status == 204)
      let whole = try await ada.get("/v1/points")
      #expect(whole.json["values"] == ["a": 3, "b": "two"])
      #expect(try await users.rows("SELECT value FROM points ORDER BY value") == [[#""two""#], ["3"], ["9"]])
      await users.stop()
      try await users.restart()
      #expect(try await ada.get("/v1/points").body == whole.body)
      let clear = #"{"actions":[{"module":"points","type":"clear","payload":{}}]}"#
      #expect(try await ada.post("/v1/actions", clear).status == 200)
      #expect(try await users.rows("SELECT value FROM points") == [["9"]])
      await users.stop()
      let report = try StoreCheck(of: users.directory.file("lockstep.db"), modules: [Self.points]).run()
      #expect(report.findings == [])
      try await users.restart()
    }
  }
}
