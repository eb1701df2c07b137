import Foundation
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

@testable import LockstepComposition
@testable import LockstepStateTestSupport

extension ServerFixture {
  /// Reads the store as another program does: the rows of a query, each value as text.
  func rows(_ sql: TestSQL) async throws -> [[String]] {
    let path = storePath
    return try await valueAside { try StoreRows.all(sql, of: path) }
  }

  /// The number of rows of a table.
  func count(_ table: String) async throws -> Int {
    try await rows("SELECT count(*) FROM \(table)").first?.first.flatMap { Int($0) } ?? -1
  }
}

extension ServerFixture {
  /// Everything that the store has, as text.
  func storedText() async throws -> String {
    let path = storePath
    return try await valueAside { try StoreRows.text(of: path) }
  }

  /// Deletes the entries of all journals up to the revision with this number.
  func deleteJournal(upTo number: Int) async throws {
    _ = try await rows(
      TestSQL(
        sqlite: "DELETE FROM journal WHERE revision >> 20 <= \(number)",
        postgreSQL: "DELETE FROM journal WHERE number <= \(number)"
      )
    )
  }

  /// Returns when the journal of all users shows what was committed before. In PostgreSQL, an entry does not
  /// count before all older transactions of the cluster have ended, here those of other tests.
  func journalIsComplete() async throws {
    // A TestDatabase has another schema, and its tests wait by themselves.
    guard !TestedStore.isSQLite, configuration.store?.contains(TestedStore.schema(for: storePath)) == true else {
      return
    }
    try await eventually {
      try await rows(
        """
        SELECT 1 FROM journal
        WHERE place >= (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + journal_offset << 20 FROM store)
        LIMIT 1
        """
      ).isEmpty
    }
  }

  /// Keeps a copy of the store, which no server has open.
  func keepCopy() async throws {
    let path = storePath
    try await valueAside {
      guard let server = TestedStore.server else {
        return try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
      }
      try Self.forEachTable("CREATE TABLE %1$I.%3$I AS TABLE %2$I.%3$I", of: path, on: server) {
        "CREATE SCHEMA \($0);"
      }
    }
  }

  /// Replaces the store, which no server has open, by the copy.
  func restoreCopy() async throws {
    let path = storePath
    try await valueAside {
      guard let server = TestedStore.server else {
        return try Data(contentsOf: URL(fileURLWithPath: path + ".copy")).write(to: URL(fileURLWithPath: path))
      }
      let statements = "DELETE FROM %2$I.%3$I; INSERT INTO %2$I.%3$I OVERRIDING SYSTEM VALUE TABLE %1$I.%3$I"
      try Self.forEachTable(statements, of: path, on: server) { _ in "" }
    }
  }

  /// Runs statements for each table of a store: `%1$I` is the schema of the copy, `%2$I` the schema of the
  /// store, and `%3$I` the table.
  private static func forEachTable(
    _ statements: String,
    of path: String,
    on server: String,
    after first: (String) -> String
  ) throws {
    let copy = TestedStore.schema(for: path + ".copy")
    try PostgreSQLConnection(TestedStore.connectionString(for: path, on: server)).execute(
      """
      \(first(copy))
      DO $$ DECLARE name text; BEGIN
        FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
          EXECUTE format('\(statements)', '\(copy)', current_schema(), name);
        END LOOP;
      END $$
      """
    )
  }
}
