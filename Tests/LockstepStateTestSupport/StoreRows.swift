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
