import Foundation
import LockstepPostgreSQL
import LockstepTestSupport
import Testing

/// A query or script of a test: one text that both databases understand, or one for each.
struct TestSQL: ExpressibleByStringInterpolation, Sendable {
  let sqlite: String
  let postgreSQL: String

  init(stringLiteral text: String) { self.init(sqlite: text, postgreSQL: text) }

  init(sqlite: String, postgreSQL: String) { (self.sqlite, self.postgreSQL) = (sqlite, postgreSQL) }
}

/// Reads and changes the rows of a store as another program does.
enum StoreRows {
  /// The rows of a query, each value as text. NULL is "NULL". `path` is the file of the store, or would be
  /// if the store were in SQLite. Blocks its caller.
  static func all(_ sql: TestSQL, of path: String) throws -> [[String]] {
    guard let server = TestedStore.server else { return try StoreFile.rows(sql.sqlite, in: path) }
    let connection = try PostgreSQLConnection(TestedStore.connectionString(for: path, on: server))
    let result = try connection.query(PostgreSQLStatement(sql.postgreSQL))
    return try (0..<result.rowCount).map { index in
      try (0..<result.columnCount).map { text(try result.row(index).value(at: $0)) }
    }
  }

  /// Everything that the store has, as text: the bytes of its file and its WAL, or all rows. Blocks its
  /// caller.
  static func text(of path: String) throws -> String {
    guard TestedStore.server != nil else {
      let files = [path, path + "-wal"].map { FileManager.default.contents(atPath: $0) ?? Data() }
      return files.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n")
    }
    // The news between servers, which name users for some minutes, are not data of a user.
    let tables = try all(
      """
      SELECT table_name::text,
        string_agg(column_name || CASE data_type WHEN 'bytea' THEN '' ELSE '::text' END, ', ')
      FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
      WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' AND table_name <> 'commits'
      GROUP BY table_name
      """,
      of: path
    )
    return try tables.map { try all("SELECT \($0[1]) FROM \($0[0])", of: path).joined().joined(separator: "\n") }
      .joined(separator: "\n")
  }

  private static func text(_ value: PostgreSQLValue) -> String {
    switch value {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let real): "\(real)"
    case .text(let text): text
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    case .uuid(let high, let low): PostgreSQLUUID(high: high, low: low).text
    // A result has no arrays.
    default: "\(value)"
    }
  }
}

extension PostgreSQLUUID {
  fileprivate var text: String {
    let digits = [high, low].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }
    let all = Array(digits.joined())
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(all[$0]) }.joined(separator: "-")
  }
}

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

extension StoreFixture {
  /// Everything that the store has, as text.
  func storedText() async throws -> String {
    let path = path
    return try await valueAside { try StoreRows.text(of: path) }
  }

  /// The rows of a query of another program, each value as text.
  func rows(_ sql: TestSQL) async throws -> [[String]] {
    let path = path
    return try await valueAside { try StoreRows.all(sql, of: path) }
  }
}
