import LockstepCollections
import LockstepSQLite
import LockstepTime

extension Timestamp: SQLiteConvertible {
  /// Milliseconds since 1970, an integer.
  public var sqliteValue: SQLiteValue { .integer(millisecondsSince1970) }

  /// Reads integers only.
  public init?(sqliteValue: SQLiteValue) {
    guard case .integer(let milliseconds) = sqliteValue else { return nil }
    self.init(millisecondsSince1970: milliseconds)
  }
}

extension Identifier: SQLiteConvertible {
  /// The text form, so that a person can read it.
  public var sqliteValue: SQLiteValue { .text(description) }

  /// Reads the text form only.
  public init?(sqliteValue: SQLiteValue) {
    guard case .text(let text) = sqliteValue else { return nil }
    self.init(text)
  }
}

extension Revision: SQLiteConvertible {
  /// An integer.
  public var sqliteValue: SQLiteValue { rawValue.sqliteValue }

  /// Reads integers only.
  public init?(sqliteValue: SQLiteValue) {
    guard let rawValue = Int(sqliteValue: sqliteValue) else { return nil }
    self.init(rawValue: rawValue)
  }
}
