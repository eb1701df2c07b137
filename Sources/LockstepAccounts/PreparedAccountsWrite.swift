import LockstepStore

/// A change to accounts that only has to be written: passwords are already hashed and verified.
///
/// `run(in:)` repeats all checks whose result may have changed meanwhile. After the commit,
/// the caller must call `StoredAccounts.finish(_:)`.
package struct PreparedAccountsWrite<Value: Sendable>: Sendable {
  /// The result of a write, before or after its commit.
  package struct Written: Sendable {
    package let value: Value
    let ended: [EndedSession]
  }

  private let body: @Sendable (StoreConnection) throws -> (Value, [EndedSession])

  package init(_ body: @escaping @Sendable (StoreConnection) throws -> (Value, [EndedSession])) {
    self.body = body
  }

  /// The same change with a check before it, in the same transaction.
  package func checked(by check: @escaping @Sendable (StoreConnection) throws -> Void) -> PreparedAccountsWrite {
    PreparedAccountsWrite { connection in
      try check(connection)
      return try body(connection)
    }
  }

  /// The same change with another result, which `value` reads in the same transaction.
  package func returning<Other: Sendable>(
    _ value: @escaping @Sendable (StoreConnection) throws -> Other
  ) -> PreparedAccountsWrite<Other> {
    PreparedAccountsWrite<Other> { connection in
      let (_, ended) = try body(connection)
      return (try value(connection), ended)
    }
  }

  /// If it throws, the connection's transaction or its savepoint must be rolled back.
  package func run(in connection: StoreConnection) throws -> Written {
    let (value, ended) = try body(connection)
    return Written(value: value, ended: ended)
  }
}
