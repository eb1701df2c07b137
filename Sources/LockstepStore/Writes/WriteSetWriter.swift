import LockstepCollections
import LockstepSQLite
import LockstepTime

/// A decided transaction.
// A class, because it is passed through several closures.
package protocol TransactionDecision: AnyObject, Sendable {
  /// Nil if there is nothing to write.
  var writes: WriteSet? { get }
}

/// Decides transactions one after the other, and commits their write sets in groups.
///
/// A decision is a function of memory and of `StoreFacts`. It writes nothing: it has a `WriteSet`,
/// which this type writes.
package struct WriteSetWriter: Sendable {
  @usableFromInline let writer: DatabaseWriter
  @usableFromInline let tables: ModuleTables

  package init(_ writer: StoreWriter, tables: ModuleTables) {
    self.writer = writer.writer
    self.tables = tables
  }

  /// Queues a transaction of a user.
  ///
  /// - Parameters:
  ///   - user: The user whose state the transaction may change.
  ///   - mayRecordRefusals: Whether `decide` may return the record of a refusal.
  ///   - decide: Runs on the writer thread. Sees all earlier transactions. If it throws, nothing is
  ///     written.
  ///   - decided: Called after `decide` when the transaction can fail only together with its group.
  ///   - completion: Called once, on a thread of the writer, when the writes are on disk or have
  ///     failed: see `DatabaseWriter.submit`.
  /// - Throws: The errors of `DatabaseWriter.submit`.
  @inlinable
  package func submit<Decision: TransactionDecision>(
    of user: UserID,
    mayRecordRefusals: Bool,
    decide: @escaping @Sendable (StoreFacts) throws -> Decision,
    decided: @escaping @Sendable (Decision) -> Void,
    completion: @escaping @Sendable (Result<Decision, any Error>) -> Void
  ) throws {
    try writer.submit(
      { [tables] connection in
        let decision = try decide(StoreFacts(connection: .sqlite(connection)))
        if let writes = decision.writes { try tables.apply(writes, to: connection) }
        // The writer checks this too, but only after `decided`.
        try connection.checkForeignKeys()
        decided(decision)
        return decision
      },
      // Without a record, a refused transaction has written nothing.
      throwsUnwritten: !mayRecordRefusals,
      of: user.writeOwner,
      completion: completion
    )
  }
}

/// The facts that a decision may need and that memory does not have: the store as the earlier
/// transactions have left it.
package struct StoreFacts {
  @usableFromInline let connection: StoreConnection

  @usableFromInline
  init(connection: StoreConnection) {
    self.connection = connection
  }

  /// The recorded response to a key of the user. Throws `IdempotencyKeyReusedError` if the key
  /// belongs to another request.
  package func response(to key: IdempotencyKey, of user: UserID, at now: Timestamp) throws -> StoredResponse? {
    try IdempotencyRecords(connection: connection).response(to: key, of: .user(user), at: now)
  }

  package func hasUser(_ user: UserID) throws -> Bool { try UserRecords(connection: connection).has(user) }

  package func hasSession(_ session: SessionID, of user: UserID) throws -> Bool {
    try SessionRecords(connection: connection).has(session, of: user)
  }
}

extension UserID {
  /// Identifies the user to the writer, so that long writes of one user do not delay other users.
  package var writeOwner: WriteOwner { WriteOwner(uuid.high, uuid.low) }
}
