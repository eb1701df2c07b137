import LockstepCollections
import LockstepSQLiteStore
import LockstepThreading
import LockstepTime

/// A decided transaction.
// A class, because it is passed through several closures.
package protocol TransactionDecision: AnyObject, Sendable {
  /// Nil if there is nothing to write.
  var writes: WriteSet? { get }
}

/// The user of a transaction, and the facts that its decision will ask for.
package struct TransactionSubject: Sendable {
  let user: UserID
  /// The session of the request; nil for a service token.
  let session: SessionID?
  /// The id of the request's service token; nil for a session and for the administrator token.
  let serviceToken: String?
  let key: IdempotencyKey?
  /// Identifies the client's network; nil if the transaction has none.
  let network: Int?
  /// The revision of the user's latest state in memory.
  let known: @Sendable () -> Revision?

  package init(
    user: UserID,
    session: SessionID?,
    serviceToken: String? = nil,
    key: IdempotencyKey?,
    network: Int? = nil,
    known: @escaping @Sendable () -> Revision?
  ) {
    (self.user, self.session, self.serviceToken) = (user, session, serviceToken)
    (self.key, self.network, self.known) = (key, network, known)
  }

  var owner: WriteOwner { user.writeOwner(network: network) }
}

/// Decides transactions one after the other, and commits their write sets in groups.
///
/// A decision is a function of memory and of `StoreFacts`. It writes nothing: it has a `WriteSet`,
/// which this type writes.
package struct WriteSetWriter: Sendable {
  package enum Database: Sendable {
    case sqlite(DatabaseWriter)
    case postgreSQL(PostgreSQLGroupCommit)
  }

  package let database: Database
  package let tables: ModuleTables
  @usableFromInline let stateEventFlag: StateEventFlag

  init(_ database: Database, tables: ModuleTables, _ stateEventFlag: StateEventFlag) {
    self.database = database
    self.tables = tables
    self.stateEventFlag = stateEventFlag
  }

  /// Queues a transaction of a user.
  ///
  /// - Parameters:
  ///   - subject: The user whose state the transaction may change.
  ///   - decide: Runs on the writer thread. Sees all earlier transactions. If it throws, nothing is
  ///     written.
  ///   - decided: Called after `decide` when the transaction can fail only together with its group.
  ///   - completion: Called once, on a thread of the writer, when the writes are on disk or have
  ///     failed: see `DatabaseWriter.submit`.
  /// - Throws: The errors of `DatabaseWriter.submit`.
  @inlinable
  package func submit<Decision: TransactionDecision>(
    _ subject: TransactionSubject,
    decide: @escaping @Sendable (StoreFacts) throws -> Decision,
    decided: @escaping @Sendable (Decision) -> Void,
    completion: @escaping @Sendable (Result<Decision, any Error>) -> Void
  ) throws {
    switch database {
    case .sqlite(let writer):
      try writer.submit(
        { [tables, stateEventFlag] connection in
          let decision = try decide(.sqlite(.sqlite(connection)))
          if let writes = decision.writes {
            try tables.apply(writes, to: connection)
            if stateEventFlag.hasStateEvents { try writes.addEvent(to: connection) }
          }
          decided(decision)
          return decision
        },
        // Without a record of the response, a refused transaction has written nothing.
        throwsUnwritten: subject.key == nil,
        of: subject.owner,
        completion: completion
      )
    case .postgreSQL(let group):
      try group.submit(
        PendingTransaction(
          subject,
          decide: { facts in
            let decision = try decide(facts)
            decided(decision)
            return (decision.writes, { completion(.success(decision)) })
          },
          fail: { completion(.failure($0)) }
        )
      )
    }
  }
}

extension UserID {
  /// Identifies the user to the writer, so that long writes of one user do not delay other users.
  package var writeOwner: WriteOwner { writeOwner(network: nil) }

  func writeOwner(network: Int?) -> WriteOwner { WriteOwner(uuid.high, uuid.low, network: network) }
}
