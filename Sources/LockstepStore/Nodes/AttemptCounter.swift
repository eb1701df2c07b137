import LockstepThreading

/// Counts attempts with passwords in the database, so that limits hold for all nodes together.
///
/// It has a thread and a connection of its own: many attempts at once delay no other change of accounts.
package final class AttemptCounter: Sendable {
  /// One use of a limit.
  package struct Use: Sendable {
    /// The 16 bytes of a hash.
    let key: [UInt8]
    /// The nanoseconds after which one attempt is allowed again, and those after which all are.
    let interval, span: Int64

    package init(key: [UInt8], interval: Int64, span: Int64) {
      (self.key, self.interval, self.span) = (key, interval, span)
    }
  }

  /// More attempts than can be verified in a minute.
  private static let capacity = 4_096

  private let units: PostgreSQLUnits

  init(_ connector: PostgreSQLConnector, feed: CommitFeed) throws(NamedThread.NotStarted) {
    units = try PostgreSQLUnits(
      connector,
      feed: feed,
      name: "attempts",
      capacity: Self.capacity,
      // The table is not replicated.
      needsStandby: false
    )
  }

  /// Counts one attempt: all of its uses, or none if one of them is above its limit. Returns the
  /// nanoseconds to wait for each use; zeros if the attempt was counted.
  ///
  /// `uses` gets true if there was a recent login (`remember`) with the key `login`.
  nonisolated(nonsending) package func count<Kind: Sendable>(
    recentLogin login: [UInt8]?,
    _ uses: @escaping @Sendable (_ isRecent: Bool) -> [(Kind, Use)]
  ) async throws -> [(kind: Kind, wait: Int64)] {
    do {
      return try await run { records in
        let uses = uses(try login.map { try records.isRecent($0) } ?? false)
        let waits = try records.count(uses.map(\.1))
        let outcome = zip(uses, waits).map { (kind: $0.0, wait: $1) }
        // Rolls back the rows that were inserted to be locked.
        if waits.contains(where: { $0 > 0 }) { throw Refusal(outcome: outcome) }
        return outcome
      }
    } catch let refusal as Refusal<Kind> {
      return refusal.outcome
    }
  }

  /// Whether there was a recent login (`remember`) with this key.
  nonisolated(nonsending) package func isRecent(_ login: [UInt8]) async throws -> Bool {
    try await run { try $0.isRecent(login) }
  }

  /// Makes the uses available again, and remembers the login.
  nonisolated(nonsending) package func giveBack(_ uses: [Use], recentLogin login: [UInt8]? = nil) async throws {
    try await run { try $0.giveBack(uses, recentLogin: login) }
  }

  private struct Refusal<Kind: Sendable>: Error {
    let outcome: [(kind: Kind, wait: Int64)]
  }

  nonisolated(nonsending) private func run<Value: Sendable>(
    _ body: @escaping @Sendable (AttemptRecords) throws -> Value
  ) async throws -> Value {
    try await withCompletion { completion in
      try units.submit(
        { connection in
          guard case .postgreSQL(let session) = connection else { throw StoreError.closed }
          return try body(AttemptRecords(session: session))
        },
        completion: completion
      )
    }
  }

  func shutDown() { units.shutDown() }
}
