import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Erasing and exporting accounts", .timeLimit(.minutes(10)))
struct LeavingTests {
  private let fixture: AccountsFixture

  init() async throws {
    fixture = try await AccountsFixture()
  }

  @Test("Erasing a user deletes every row with the user's id, and no row of other users")
  func erase() async throws {
    // A table like those of other modules, to test the cascade. A store in PostgreSQL has none.
    if TestedStore.isSQLite {
      try await fixture.store.writer.write { connection in
        try connection.execute(
          "CREATE TABLE things (user_id TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE, name TEXT) STRICT"
        )
      }
    }
    let ann = [try await fixture.signUp("ann@example.com"), try await fixture.logIn("ann@example.com")]
    let ben = try await fixture.signUp("ben@example.com")
    for user in [ann[0].user.id, ben.user.id] where TestedStore.isSQLite {
      _ = try await fixture.store.writer.write { try $0.run("INSERT INTO things VALUES (?, 'x')", user) }
    }
    let live = try #require(try await fixture.live(ann[0]))
    let other = try #require(try await fixture.live(ann[1]))
    #expect(
      await AccountsError.caught { try await fixture.accounts.erase(confirmedBy: Password("wrong"), in: live) }
        == .wrongPassword
    )
    #expect(try await fixture.count("SELECT count(*) FROM users") == 2)

    try await fixture.accounts.erase(confirmedBy: Password("a good password"), in: live)
    #expect(live.isEnded && other.isEnded)
    for signedIn in ann { #expect(try await fixture.live(signedIn) == nil) }
    #expect(try await fixture.accounts.user(live.user) == nil)
    #expect(try await fixture.accounts.export(live.user) == nil)
    #expect(await AccountsError.caught { try await fixture.logIn("ann@example.com") } == .wrongCredentials)
    let rows = try await rowsMentioning(live.user)
    #expect(rows == [:])
    let bens =
      TestedStore.isSQLite
      ? ["users": 1, "sessions": 1, "things": 1]
      : ["users": 1, "addresses": 1, "heads": 1, "sessions": 1, "tokens": 1]
    #expect(try await rowsMentioning(ben.user.id) == bens)
    #expect(try await fixture.live(ben) != nil)
    try await fixture.signUp("ann@example.com")
  }

  /// Counts the rows of each table that have the user's id in one of their columns.
  private func rowsMentioning(_ user: UserID) async throws -> [String: Int] {
    let columns = try await fixture.files.rows(
      TestSQL(
        sqlite: """
          SELECT t.name, c.name FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
          WHERE t.schema = 'main' AND t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
          """,
        // The servers' news of the last minutes name the user too.
        postgreSQL: """
          SELECT table_name::text, column_name::text FROM information_schema.columns JOIN information_schema.tables
            USING (table_schema, table_name)
          WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name <> 'commits'
          """
      )
    )
    var rows: [String: Int] = [:]
    for column in columns {
      let (table, column) = (column[0], column[1])
      let found = try await fixture.files.rows(
        TestSQL(
          sqlite: "SELECT count(*) FROM \(table) WHERE \(column) = '\(user)'",
          postgreSQL: "SELECT count(*) FROM \(table) WHERE \(column)::text = '\(user)'"
        )
      )
      if found != [["0"]] { rows[table] = Int(found[0][0]) }
    }
    return rows
  }

  @Test("The export has everything about the account except secrets")
  func export() async throws {
    let ann = try await fixture.signUp("ann@example.com", device: "phone")
    let live = try #require(try await fixture.live(ann))
    fixture.directory.note(cursor: "c1", of: live)
    fixture.clock.advance(by: .seconds(60))
    _ = try await fixture.live(ann)
    let export = try #require(try await fixture.accounts.export(ann.user.id))
    #expect(
      JSON.object(export) == [
        "user": [
          "id": .string("\(ann.user.id)"), "email": "ann@example.com", "emailVerified": false,
          "createdAt": "1970-01-01T00:16:40.000Z", "passwordChangedAt": "1970-01-01T00:16:40.000Z",
        ],
        "sessions": [
          [
            "id": .string("\(ann.session.id)"), "device": "phone", "createdAt": "1970-01-01T00:16:40.000Z",
            "lastSeenAt": "1970-01-01T00:17:40.000Z", "expiresAt": "1970-04-01T00:17:40.000Z", "cursor": "c1",
          ]
        ],
      ]
    )
  }
}
