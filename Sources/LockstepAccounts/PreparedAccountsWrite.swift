import LockstepSQLite
import LockstepStore

/// A change to accounts whose slow part is over: passwords are hashed and checked, only the store is left.
///
/// `run(in:)` is the body of a unit of the writer, which may do more in the same transaction, such as keeping the answer
/// under an idempotency key. Whatever may have changed since the slow part is looked at again there. When the transaction
/// is on disk, and not before, `StoredAccounts.finish(_:)` takes what has ended out of memory.
public struct PreparedAccountsWrite<Value: Sendable>: Sendable {
  /// What was written, once the transaction is on disk.
  public struct Written: Sendable {
    package let value: Value
    let ended: [EndedSession]
  }

  private let body: @Sendable (SQLiteConnection) throws -> (Value, [EndedSession])

  package init(_ body: @escaping @Sendable (SQLiteConnection) throws -> (Value, [EndedSession])) {
    self.body = body
  }

  /// The same change with a check before it, in the same transaction. What `check` throws undoes it.
  package func checked(by check: @escaping @Sendable (SQLiteConnection) throws -> Void) -> PreparedAccountsWrite {
    PreparedAccountsWrite { connection in
      try check(connection)
      return try body(connection)
    }
  }

  /// Writes, within the transaction that the connection is in. Throws `AccountsError` where the change can't be made, or
  /// SQLite's; then the transaction, or the savepoint around this, must be undone.
  public func run(in connection: SQLiteConnection) throws -> Written {
    let (value, ended) = try body(connection)
    return Written(value: value, ended: ended)
  }
}
