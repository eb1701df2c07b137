import LockstepSQLite

extension WebhookID: SQLiteConvertible {
  package var sqliteValue: SQLiteValue { .integer(Int64(number)) }

  package init?(sqliteValue: SQLiteValue) {
    guard let number = Int(sqliteValue: sqliteValue) else { return nil }
    self.init(number)
  }
}
