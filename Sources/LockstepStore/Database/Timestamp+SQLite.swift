import LockstepSQLite

extension Timestamp: SQLiteConvertible {
  /// Milliseconds since 1970, an integer.
  public var sqliteValue: SQLiteValue { .integer(millisecondsSince1970) }

  /// Takes integers only.
  public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let milliseconds) = sqliteValue else { return nil }
    self.init(millisecondsSince1970: milliseconds)
  }
}
