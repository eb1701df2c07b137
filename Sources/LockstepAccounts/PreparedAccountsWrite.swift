import LockstepSQLite
import LockstepStore

/// A change to accounts after its slow part: passwords are hashed and verified, and only the write is left.
///
/// `run(in:)` runs in a transaction on the writer thread, which may contain other writes. It checks
/// again everything that may have changed since the slow part. After the commit, the caller must
/// call `StoredAccounts.finish(_:)`.
package struct PreparedAccountsWrite<Value: Sendable>: Sendable {
  /// The result of a write that may not be committed yet.
  package struct Written: Sendable {
    package let value: Value
    let ended: [EndedSession]
  }

  private let body: @Sendable (SQLiteConnection) throws -> (Value, [EndedSession])

  package init(_ body: @escaping @Sendable (SQLiteConnection) throws -> (Value, [EndedSession])) {
    self.body = body
  }

  /// The same change with a check before it, in the same transaction. An error of `check` rolls the
  /// change back.
  package func checked(by check: @escaping @Sendable (SQLiteConnection) throws -> Void) -> PreparedAccountsWrite {
    PreparedAccountsWrite { connection in
      try check(connection)
      return try body(connection)
    }
  }

  /// Writes within the connection's transaction. If it throws, the transaction or its savepoint must be rolled back.
  package func run(in connection: SQLiteConnection) throws -> Written {
    let (value, ended) = try body(connection)
    return Written(value: value, ended: ended)
  }
}
