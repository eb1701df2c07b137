import LockstepCollections
import LockstepStore
import LockstepThreading
import LockstepTime

/// The only part that changes registered defaults, which are all in memory. Changes are decided on
/// the writer thread, and are published once they are on disk.
package final class RegisteredLedger: Sendable {
  private struct Contents: Sendable {
    var committed: RegisteredDefaults
    /// The result of the last decided change, until it is published. Later units start from it.
    var pending: (registered: RegisteredDefaults, ticket: UInt64)?
    var tickets: UInt64 = 0
  }

  private let contents: LockedState<Contents>
  private let writer: StoreWriter
  private let inFlightKeys: InFlightKeys
  private let eras: EraSource
  private let now: @Sendable () -> Timestamp
  private let notify: @Sendable (RegisteredDefaults) -> Void

  /// `notify` is called after each committed change.
  package init(
    _ registered: RegisteredDefaults,
    writer: StoreWriter,
    inFlightKeys: InFlightKeys = InFlightKeys(),
    eras: EraSource,
    now: @escaping @Sendable () -> Timestamp,
    notify: @escaping @Sendable (RegisteredDefaults) -> Void = { _ in }
  ) {
    contents = LockedState(Contents(committed: registered))
    self.writer = writer
    self.inFlightKeys = inFlightKeys
    self.eras = eras
    self.now = now
    self.notify = notify
  }

  package var current: RegisteredDefaults { contents.withLock { $0.committed } }

  package var revision: Revision { contents.withLock { $0.committed.revision } }

  /// The registered defaults for a unit of the writer, with changes that are not published yet.
  var latest: RegisteredDefaults { contents.withLock { $0.pending?.registered ?? $0.committed } }

  package struct Change: Sendable {
    let suite: String
    let key: IdempotencyKey?
    let owner: IdempotencyKeyOwner
    /// Returns the new values of keys; nil removes a key. Throws a refusal.
    let decide: @Sendable (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)]
    let response: @Sendable (RegisteredDefaults) -> StoredResponse
    /// The response to a refusal; nil for any other error, which must not be recorded.
    let refusal: @Sendable (any Error) -> StoredResponse?

    package init(
      suite: String,
      key: IdempotencyKey? = nil,
      owner: IdempotencyKeyOwner = .administrator,
      decide: @escaping @Sendable (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)],
      response: @escaping @Sendable (RegisteredDefaults) -> StoredResponse,
      refusal: @escaping @Sendable (any Error) -> StoredResponse?
    ) {
      self.suite = suite
      self.key = key
      self.owner = owner
      self.decide = decide
      self.response = response
      self.refusal = refusal
    }
  }

  private struct Outcome: Sendable {
    let response: KeyedResponse
    let registered: RegisteredDefaults
  }

  /// Changes values of a suite in one transaction, and returns when they are on disk. Throws errors
  /// of `decide` and of the store, `IdempotencyKeyInUseError` and `IdempotencyKeyReusedError`.
  package func change(_ change: Change) async throws -> KeyedResponse {
    if let key = change.key { try inFlightKeys.claim(key, of: change.owner) }
    defer { if let key = change.key { inFlightKeys.release(key, of: change.owner) } }
    let ticket = contents.withLock { contents in
      contents.tickets += 1
      return contents.tickets
    }
    return try await withCompletion { completion in
      try writer.submit {
        let outcome = try self.run(change, in: $0)
        // From here on, the unit can fail only together with its group.
        self.contents.withLock { $0.pending = (outcome.registered, ticket) }
        return outcome
      } completion: {
        completion(self.publish($0, ticket))
      }
    }
  }

  /// Takes in the changes of other servers. `isWhole`: also if the present ones are not in the history
  /// any more.
  package func refresh(from connection: StoreConnection, isWhole: Bool = false) throws {
    let before = revision
    let loaded = try RegisteredDefaultsTable().load(from: connection)
    let changed = contents.withLock { contents in
      let present = contents.committed.revision
      guard loaded.revision > present || isWhole && present == before && loaded.revision != present else {
        return false
      }
      contents.committed = loaded
      return true
    }
    if changed { notify(loaded) }
  }

  /// Takes in the changes of other servers, if there are any.
  func refreshIfOutdated(from connection: StoreConnection) throws {
    let last = try RegisteredDefaultsTable().lastRevision(in: connection)
    // After a failover of the database, the last revision may be lower.
    if last != revision { try refresh(from: connection, isWhole: true) }
  }

  private func run(_ change: Change, in connection: StoreConnection) throws -> Outcome {
    var registered = try RegisteredDefaultsTable().lock(latest, in: connection)
    guard let key = change.key else {
      let response = try perform(change, on: &registered, in: connection)
      return Outcome(response: KeyedResponse(response: response), registered: registered)
    }
    let response = try IdempotencyRecords(connection: connection).once(key, of: change.owner, at: now()) {
      try perform(change, on: &registered, in: connection)
    } refusal: {
      change.refusal($0)
    }
    return Outcome(response: response, registered: registered)
  }

  private func perform(
    _ change: Change,
    on registered: inout RegisteredDefaults,
    in connection: StoreConnection
  ) throws -> StoredResponse {
    let suite = change.suite
    let present = registered.values(of: suite)
    let changes = try change.decide(registered).filter { present[ElementKey($0.key)]?.encoded != $0.value }
    let revision = registered.revision.next(in: eras.current)
    for (key, value) in changes {
      let service = RegisteredDefaultsTable()
      try service.write(key, in: suite, value: value, revision: revision, at: now(), to: connection)
      registered.apply(key, in: suite, value: value, revision: revision)
    }
    return change.response(registered)
  }

  private func publish(_ result: Result<Outcome, any Error>, _ ticket: UInt64) -> Result<KeyedResponse, any Error> {
    let changed = contents.withLock { contents -> RegisteredDefaults? in
      // A later change's result stays pending until its own handler is called. After a failed
      // group, no unit runs before all handlers of the group have been called.
      if contents.pending?.ticket == ticket { contents.pending = nil }
      guard case .success(let outcome) = result, outcome.registered.revision != contents.committed.revision,
        // Another server's later change may have been read before.
        outcome.registered.revision.number >= contents.committed.revision.number
      else { return nil }
      contents.committed = outcome.registered
      return outcome.registered
    }
    if let changed { notify(changed) }
    return result.map(\.response)
  }
}
