import Foundation
import LockstepJSON
import LockstepMigrations
import LockstepSQLite
import LockstepModules
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepMaintenance
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("A check of a store", .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly), .timeLimit(.minutes(10)))
struct StoreCheckTests {
  /// A closed store with two users and some history.
  private static func made() async throws -> SyncFixture {
    let fixture = try SyncFixture()
    for number in [1, 2] as [UInt64] {
      let user = try await fixture.user(number)
      try await fixture.commit([try fixture.action("favorites", "add", ["id": "a", "title": "A"])], as: user)
      try await fixture.commit([try fixture.action("favorites", "add", ["id": "b", "data": ["x": 1]])], as: user)
      try await fixture.commit([try fixture.set("theme", "dark"), try fixture.set("size", 3)], as: user)
      try await fixture.commit([try fixture.action("favorites", "remove", ["id": "a"])], as: user)
      try await fixture.commit([try fixture.action("profile", "save", ["position": "x"])], as: user)
    }
    fixture.store.close()
    return fixture
  }

  /// A change by another program, the area of the finding, and its text.
  private static let damages: [(sql: String, area: CheckReport.Area, words: String)] = [
    (
      "UPDATE list_elements SET element = json_set(element, '$.title', 'B') WHERE id = 'b'", .users,
      "favorites: the tables have 1 elements at revision 4, the journal gives 1 at revision 4; the first difference is at “b”"
    ),
    (
      "UPDATE map_values SET value = '4' WHERE key = 'size'", .users,
      "defaults/standard: the tables have 2 elements at revision 3, the journal gives 2 at revision 3; the first difference is at “size”"
    ),
    ("DELETE FROM list_elements", .users, "the tables have 0 elements at revision 4, the journal gives 1"),
    (
      "DELETE FROM map_values WHERE collection = 'profile'", .users,
      "profile: the journal has entries, the tables are empty"
    ),
    (
      "INSERT INTO map_values SELECT id, 'defaults/other', 'k', '1', 2 << 20 FROM users", .users,
      "defaults/other: the tables have elements, the journal has no entries"
    ),
    ("DELETE FROM journal WHERE revision >> 20 = 2", .users, "the journal has 4 of the 5 revisions from 1 to 5"),
    ("UPDATE journal SET mutations = '[' WHERE revision >> 20 = 3", .texts, "journal: an entry of user"),
    (
      "UPDATE journal SET mutations = CAST(replace(mutations, 'A', x'ff') AS TEXT) WHERE revision >> 20 = 1", .texts,
      "in the column mutations is not UTF-8"
    ),
    (
      "UPDATE journal SET action = CAST(x'7b226122ff7d' AS TEXT) WHERE revision >> 20 = 1", .texts,
      "in the column action is not UTF-8"
    ),
    ("UPDATE users SET email = CAST(x'ff' || email AS TEXT)", .texts, "users: a text in the column email is not UTF-8"),
    (
      "UPDATE map_values SET value = 'dark' WHERE key = 'theme'", .texts,
      "map_values: “theme” in defaults/standard of user"
    ),
    ("UPDATE list_elements SET element = '{'", .texts, "list_elements: “b” in favorites of user"),
    ("UPDATE list_elements SET element = '[]'", .texts, "list_elements: “b” in favorites of user"),
    (
      "INSERT INTO registered_defaults VALUES ('standard', 'theme', 1 << 20, '{', 0)", .texts,
      "registered_defaults: “theme” in standard at revision 1 is not valid JSON"
    ),
    ("DELETE FROM removals", .users, "favorites: the table removals lacks the removal at revision 4"),
    (
      "UPDATE journal SET collection = 'nonsense'", .users,
      "the journal has entries of nonsense, which is not a collection"
    ),
    (
      "INSERT INTO snapshots SELECT id, 'favorites', 5 << 20, '{' FROM users", .texts, "snapshots: favorites of user"
    ),
    (
      "INSERT INTO snapshots SELECT id, 'favorites', 5 << 20, '{}' FROM users", .users,
      "the snapshot of favorites at revision 5 cannot be read"
    ),
    (
      "PRAGMA foreign_keys = OFF; INSERT INTO map_values VALUES ('unknown', 'profile', 'position', '1', 1)",
      .references,
      "row of map_values refers to a missing row of users"
    ),
    (
      "UPDATE journal SET written = 9223372036854775807 WHERE revision >> 20 = 5", .users,
      "1 entries of the journal have an impossible size"
    ),
    ("UPDATE journal SET written = -1 WHERE revision >> 20 = 5", .users, "have an impossible size"),
    ("UPDATE list_elements SET rank = 4611686018427387904", .users, "favorites: 1 elements have an impossible rank"),
    ("DELETE FROM store", .identity, "the table store has 0 rows, not one"),
    (
      """
      INSERT INTO sessions (user_id, id, token_hash, created_at, last_seen_at, expires_at)
      SELECT id, id, randomblob(32), 0, 0, 0 FROM users LIMIT 1; DELETE FROM token_key
      """, .identity, "the table token_key is empty"
    ),
    ("PRAGMA foreign_keys = OFF; UPDATE users SET id = 'x' || id", .users, "is not a user id"),
  ]

  @Test("A store that a server has closed is intact")
  func whole() async throws {
    let fixture = try await Self.made()
    let report = try StoreCheck(of: fixture.files.path).run()
    #expect(report.findings == [] && !report.isDamaged && report.isWhole)
    #expect(report.users == 2 && report.pages > 10 && report.pageSize == 4096)
    #expect(report.identity == fixture.store.id)
  }

  @Test("A store that a server is writing to is intact")
  func open() async throws {
    let fixture = try SyncFixture()
    let user = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: user)
    #expect(try StoreCheck(of: fixture.files.path).run().findings == [])
  }

  @Test("A change by another program is found and located", arguments: damages.indices)
  func damage(index: Int) async throws {
    let (sql, area, words) = Self.damages[index]
    let fixture = try await Self.made()
    try fixture.files.sqlite().execute(sql)
    let report = try StoreCheck(of: fixture.files.path).run()
    #expect(report.isDamaged)
    #expect(report.findings.contains { $0.area == area && $0.what.contains(words) }, "\(report.findings)")
  }

  @Test("An overwritten page is found, and the rest is still checked")
  func page() async throws {
    let fixture = try await Self.made()
    let root = try fixture.files.sqlite().first("SELECT rootpage FROM sqlite_schema WHERE name = 'removals'") { row in
      try row[0] as Int
    }
    var bytes = try fixture.files.folder.contents(of: "lockstep.db")
    let start = (try #require(root) - 1) * 4096
    for place in start..<start + 4096 { bytes[place] = 0xFF }
    try fixture.files.folder.write(bytes, to: "lockstep.db")
    let report = try StoreCheck(of: fixture.files.path).run()
    #expect(report.counts[.file, default: 0] > 0)
    #expect(report.users == 2)
  }

  @Test("Exceeded quotas are reported, and are not damage")
  func quotas() async throws {
    let fixture = try await Self.made()
    let check = StoreCheck(
      of: fixture.files.path,
      favorites: CollectionQuota(elements: 0),
      defaults: DefaultsQuota(keys: 1, bytes: 3, suites: 0)
    )
    let report = try check.run()
    #expect(!report.isDamaged)
    #expect(report.counts == [.quotas: 8])
    let first = "user \(SyncFixture.session(1).user): "
    let words = report.findings.map(\.what).filter { $0.hasPrefix(first) }.map { String($0.dropFirst(first.count)) }
    #expect(
      words == [
        "1 suites, the quota is 0", "1 elements of favorites, the quota is 0",
        "2 keys in defaults/standard, the quota is 1", "16 bytes in defaults/standard, the quota is 3",
      ]
    )
  }

  @Test("Of many findings, a hundred are listed and all are counted")
  func many() async throws {
    let fixture = try await Self.made()
    try fixture.files.sqlite().execute(
      """
      PRAGMA foreign_keys = OFF;
      WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)
      INSERT INTO map_values SELECT id, 'defaults/s' || i, 'k', 'nonsense', 0 FROM users, n
      """
    )
    let report = try StoreCheck(of: fixture.files.path).run()
    #expect(report.counts[.texts] == 300)
    #expect(report.findings.count { $0.area == .texts } == 100)
  }

  @Test("In a store with an earlier schema only the file is checked; a newer schema and a foreign database are refused")
  func schemas() async throws {
    let files = try StoreFixture()
    let old = try files.store(migrator: Migrator(Array(Migration.all.dropLast())))
    old.close()
    let report = try StoreCheck(of: files.path).run()
    #expect(!report.isWhole && !report.isDamaged && report.schema == Migration.all.count - 1)
    try files.sqlite().execute("PRAGMA user_version = 1000")
    #expect(throws: StoreError.newerSchema(path: files.path, found: 1000, known: Migration.all.count)) {
      try StoreCheck(of: files.path).run()
    }
    let other = files.folder.file("other.db")
    try files.sqlite(other).execute("CREATE TABLE t (a INTEGER)")
    #expect(throws: StoreError.notAStore(path: other)) { try StoreCheck(of: other).run() }
    try files.folder.write([], to: "empty.db")
    let empty = files.folder.file("empty.db")
    #expect(throws: StoreError.emptyFile(path: empty)) { try StoreCheck(of: empty).run() }
    #expect(throws: MaintenanceError.missing(path: "/nowhere")) { try StoreCheck(of: "/nowhere").run() }
  }
}
