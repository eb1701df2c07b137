import LockstepCollections
import LockstepPostgreSQL
import LockstepSQLite

/// A row of a result.
package struct PostgreSQLStoreRow: ~Copyable {
  let result: PostgreSQLResult
  let index: Int

  init(result: PostgreSQLResult, index: Int) {
    (self.result, self.index) = (result, index)
  }

  var row: PostgreSQLRow { result.row(index) }

  /// The value of a column, counted from 0. Throws if the column has another type.
  package func value<Value: SQLiteConvertible>(at column: Int) throws -> Value {
    let stored = SQLiteValue(try row.value(at: column))
    if let value = Value(sqliteValue: stored) { return value }
    throw PostgreSQLError.mismatch(column: column, found: "\(stored)", wanted: "\(Value.self)")
  }
}

extension PostgreSQLValue {
  init(_ value: SQLiteValue) {
    self =
      switch value {
      case .null: .null
      case .integer(let integer): .integer(integer)
      case .real(let real): .real(real)
      case .text(let text): .text(text)
      case .blob(let bytes): .bytes(bytes)
      }
  }
}

extension SQLiteValue {
  /// Ids become texts, as SQLite stores them.
  init(_ value: PostgreSQLValue) {
    self =
      switch value {
      case .null: .null
      case .integer(let integer): .integer(integer)
      case .real(let real): .real(real)
      case .text(let text): .text(text)
      case .bytes(let bytes): .blob(bytes)
      // A UUID of another version is no id, so nothing can read it.
      case .uuid(let high, let low): UUIDv7(high: high, low: low).map { .text($0.description) } ?? .null
      // A result has no arrays.
      default: .null
      }
  }
}
