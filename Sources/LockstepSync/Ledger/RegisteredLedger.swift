import LockstepCollections
import LockstepSQLite
import LockstepStore
import LockstepThreading
import LockstepTime

/// Where what is registered for everybody changes: all of it is in memory. It's decided on the writer's thread and
/// published once it's on disk.
package final class RegisteredLedger: Sendable {
  private struct Contents: Sendable {
    var committed: RegisteredDefaults
    /// What was decided last, and by which change, as long as it isn't published yet; what later units see.
    var pending: (registered: RegisteredDefaults, ticket: UInt64)?
    /// Tells changes apart.
    var tickets: UInt64 = 0
  }

  private let contents: LockedState<Contents>
  private let writer: DatabaseWriter
  private let keysInUse: InFlightKeys
  private let era: Era
  private let now: @Sendable () -> Timestamp
  private let announce: @Sendable (RegisteredDefaults) -> Void

  /// - Parameters:
  ///   - registered: What the store has.
  ///   - writer: Who writes.
  ///   - keysInUse: The idempotency keys at work.
  ///   - era: What marks the revisions that are made.
  ///   - now: The time.
  ///   - announce: Told of each committed change, by one thread at a time.
  package init(
    _ registered: RegisteredDefaults,
    writer: DatabaseWriter,
    keysInUse: InFlightKeys = InFlightKeys(),
    era: Era,
    now: @escaping @Sendable () -> Timestamp,
    announce: @escaping @Sendable (RegisteredDefaults) -> Void = { _ in }
  ) {
    contents = LockedState(Contents(committed: registered))
    self.writer = writer
    self.keysInUse = keysInUse
    self.era = era
    self.now = now
    self.announce = announce
  }

  /// What is registered, as it's on disk.
  package var current: RegisteredDefaults { contents.withLock { $0.committed } }

  /// The revision of what is registered, as it's on disk.
  package var revision: Revision { contents.withLock { $0.committed.revision } }

  /// What is registered, for a unit of the writer that decides by it.
  var latest: RegisteredDefaults { contents.withLock { $0.pending?.registered ?? $0.committed } }

  /// A change of a suite.
  package struct Change: Sendable {
    let suite: String
    /// The client's key, where it sent one.
    let key: IdempotencyKey?
    /// Gives the new values of keys by what is registered, nil for a key that is taken back.
    let decide: @Sendable (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)]
    /// What the client is told when it's done.
    let answer: @Sendable (RegisteredDefaults) -> StoredResponse
    /// What the client is told of a refusal; nil for an error that is not the client's, and must not be kept.
    let refusal: @Sendable (any Error) -> StoredResponse?

    package init(
      suite: String,
      key: IdempotencyKey? = nil,
      decide: @escaping @Sendable (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)],
      answer: @escaping @Sendable (RegisteredDefaults) -> StoredResponse,
      refusal: @escaping @Sendable (any Error) -> StoredResponse?
    ) {
      self.suite = suite
      self.key = key
      self.decide = decide
      self.answer = answer
      self.refusal = refusal
    }
  }

  private struct Outcome: Sendable {
    let settlement: KeyedResponse
    /// What is registered after it.
    let registered: RegisteredDefaults
  }

  /// Changes values of a suite, in one transaction, and returns when it's on disk.
  ///
  /// - Throws: What `decide` throws, `IdempotencyKeyInUseError`, `IdempotencyKeyReusedError`, or why it couldn't be written.
  package func change(_ change: Change) async throws -> KeyedResponse {
    guard let key = change.key else { return try await submit(change) }
    return try await keysInUse.hold(key, of: .administrator) { try await submit(change) }
  }

  private func submit(_ change: Change) async throws -> KeyedResponse {
    let ticket = contents.withLock { contents in
      contents.tickets += 1
      return contents.tickets
    }
    return try await withCheckedThrowingContinuation { continuation in
      do {
        try writer.submit {
          let outcome = try self.run(change, in: $0)
          // Nothing of this unit can fail any more without its group.
          self.contents.withLock { $0.pending = (outcome.registered, ticket) }
          return outcome
        } settled: { result in
          continuation.resume(with: self.settle(result, ticket))
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  private func run(_ change: Change, in connection: SQLiteConnection) throws -> Outcome {
    guard let key = change.key else { return try perform(change, in: connection) }
    let records = IdempotencyRecords(connection: connection)
    if let answer = try records.answer(to: key, of: .administrator, now: now()) {
      return Outcome(settlement: KeyedResponse(answer: answer, isReplay: true), registered: latest)
    }
    do {
      let outcome = try connection.savepoint { try perform(change, in: connection) }
      try records.keep(outcome.settlement.answer, to: key, of: .administrator, now: now())
      return outcome
    } catch {
      guard let refusal = change.refusal(error) else { throw error }
      try records.keep(refusal, to: key, of: .administrator, now: now())
      return Outcome(settlement: KeyedResponse(answer: refusal), registered: latest)
    }
  }

  private func perform(_ change: Change, in connection: SQLiteConnection) throws -> Outcome {
    var registered = latest
    let suite = change.suite
    let present = registered.values(of: suite)
    let changes = try change.decide(registered).filter { present[ElementKey($0.key)]?.encoded != $0.value }
    let revision = registered.revision.next(in: era)
    for (key, value) in changes {
      let service = RegisteredDefaultsTable()
      try service.write(key, in: suite, value: value, revision: revision, at: now(), to: connection)
      registered.apply(key, in: suite, value: value, revision: revision)
    }
    return Outcome(settlement: KeyedResponse(answer: change.answer(registered)), registered: registered)
  }

  private func settle(_ result: Result<Outcome, any Error>, _ ticket: UInt64) -> Result<KeyedResponse, any Error> {
    let hasChanged = contents.withLock { contents in
      // A later change, which was built on this one, stays: a group that failed is told before any other unit runs.
      if contents.pending?.ticket == ticket { contents.pending = nil }
      guard case .success(let outcome) = result, outcome.registered.revision > contents.committed.revision else {
        return false
      }
      contents.committed = outcome.registered
      return true
    }
    if hasChanged, case .success(let outcome) = result { announce(outcome.registered) }
    return result.map(\.settlement)
  }
}
