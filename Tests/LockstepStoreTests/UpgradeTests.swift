import LockstepJSON
import LockstepMigrations
import LockstepSQLite
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite(
  "Upgrading a store from an older schema",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct UpgradeTests {
  @Test("History and cursors are kept when revisions get eras")
  func eras() throws {
    let fixture = try StoreFixture()
    try fixture.store(migrator: Migrator(Array(Migration.all.prefix(3)))).close()
    let user = try #require(UserID("01890000-0000-7000-8000-000000000001"))
    let session = "01890000-0000-7000-8000-000000000002"
    let item =
      #"{"id":"é\u00e9\"","data":[1.5,{"x":[]}],"addedAt":"t","updatedAt":"t"}"#
    try fixture.sqlite().execute(
      """
      INSERT INTO users VALUES ('\(user)', 'a@b.c', 'a@b.c', '', 1, 0, 0, NULL);
      INSERT INTO favorites VALUES ('\(user)', 'a', NULL, NULL, 't', 't', 1, 3);
      INSERT INTO defaults VALUES ('\(user)', 'standard', 'k', '1.5', 5);
      INSERT INTO profiles VALUES ('\(user)', 'position', '"x"', 4);
      INSERT INTO removals VALUES ('\(user)', 'favorites', 2);
      INSERT INTO registered_defaults VALUES ('standard', 'r', 7, '1', 0);
      INSERT INTO snapshots VALUES ('\(user)', 'favorites', 3,
        '{"kind":"list","revision":3,"items":[[1,\(item)],[3,{"id":"b"}]]}');
      INSERT INTO snapshots VALUES ('\(user)', 'defaults/standard', 4,
        '{"kind":"map","revision":2,"values":[["ö\\"",1,1.5],["z",2,null]]}');
      INSERT INTO journal VALUES ('\(user)', 5, 1, 'favorites', 9, NULL, '{"type":"b"}', '[]');
      INSERT INTO journal VALUES ('\(user)', 5, 0, 'defaults/standard', 9, '\(session)', '{"type":"a"}', '[]');
      INSERT INTO journal VALUES ('\(user)', 4, 0, 'profile', 8, NULL, '{}', '[]');
      """
    )
    let store = try fixture.store()
    defer { store.close() }
    try store.write { connection in
      let journal = Journal(connection: connection)
      let entries = try journal.entries(of: user, after: .none, upTo: 5)
      #expect(entries.map(\.revision) == [4, 5, 5] && entries.map(\.position) == [0, 0, 1])
      #expect(entries.map(\.at.millisecondsSince1970) == [8, 9, 9])
      #expect(entries.map { $0.session?.description } == [nil, session, nil])
      #expect(entries.map(\.action) == ["{}", #"{"type":"a"}"#, #"{"type":"b"}"#])
      #expect(
        try journal.end(of: user).written == entries.reduce(0) { $0 + $1.action.utf8.count + $1.mutations.utf8.count }
      )
      let snapshots = Snapshots(connection: connection)
      let list = try #require(try snapshots.latest(of: CollectionName("favorites"), of: user, upTo: 5))
      #expect(list.revision == 3)
      #expect(
        list.state
          == .list(
            ListState(
              [
                ListItem(id: ElementKey("éé\""), encoded: JSON(trusting: Array(item.utf8)).encoded(), revision: 1),
                ListItem(id: ElementKey("b"), encoded: Array(#"{"id":"b"}"#.utf8), revision: 3),
              ],
              revision: 3
            )
          )
      )
      let map = try #require(try snapshots.latest(of: Suite.collection("standard"), of: user, upTo: 5))
      let values = [("ö\"", "1.5", 1), ("z", "null", 2)].map { key, value, revision in
        (ElementKey(key), MapValue(encoded: Array(value.utf8), revision: Revision(number: revision)))
      }
      #expect(map.revision == 4)
      #expect(map.state == .map(MapState(Dictionary(uniqueKeysWithValues: values), revision: 2)))
      #expect(try RegisteredDefaultsTable().load(from: connection).revision == 7)
      let others = try connection.all(
        """
        SELECT revision FROM list_elements UNION ALL SELECT revision FROM defaults
        UNION ALL SELECT revision FROM profiles UNION ALL SELECT revision FROM removals
        """
      ) { row in try row[0] as Revision }
      #expect(others == [3, 5, 4, 2])
      // Erasing the user still erases the journal.
      try connection.run("DELETE FROM users WHERE id = ?", user)
      #expect(try journal.lastRevision(of: user) == .none)
    }
  }

  @Test("Passwords of an older store may have any length. A new store knows the smallest rule that was used with it")
  func shortestPassword() throws {
    for hasUser in [true, false] {
      let fixture = try StoreFixture()
      try fixture.store(migrator: Migrator(Array(Migration.all.prefix(15)))).close()
      if hasUser {
        try fixture.sqlite().execute(
          """
          INSERT INTO users (id, email, email_key, password_hash, password_version, password_changed_at, created_at)
          VALUES ('01890000-0000-7000-8000-000000000001', 'a@b.c', 'a@b.c', '', 1, 0, 0)
          """
        )
      }
      let store = try fixture.store()
      defer { store.close() }
      let lengths = try store.write { connection in
        let shortest = ShortestPassword(connection: connection)
        let before = try shortest.characters()
        for minimum in [8, 12] { try shortest.lower(to: minimum) }
        return [before, try shortest.characters()]
      }
      #expect(lengths == (hasUser ? [1, 1] : [256, 8]))
    }
  }
}
