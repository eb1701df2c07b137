import LockstepAccounts
import LockstepCollections
import LockstepStore
import LockstepThreading
import LockstepTime

/// The only part that changes a value which all users share, and which is all in memory. Changes are
/// decided on the writer thread, and are published once they are on disk.
final class SharedLedger<Value: Sendable>: Sendable {
  /// Reads and writes the value in the store.
  struct Storage: Sendable {
    let revision: @Sendable (Value) -> Revision
    let load: @Sendable (StoreConnection) throws -> Value
    /// Locks the value until the end of the transaction. Returns the latest one: the given one, or one
    /// that another server has written.
    let lock: @Sendable (Value, StoreConnection) throws -> Value
    let lastRevision: @Sendable (StoreConnection) throws -> Revision
  }

  /// A change of the value.
  struct Change: Sendable {
    let key: IdempotencyKey?
    let owner: IdempotencyKeyOwner
    /// The service token that makes the change, and must still exist.
    let agent: LiveServiceToken?
    /// Writes the change and returns the response. The change has the next revision.
    let perform: @Sendable (inout Value, _ next: Revision, StoreConnection) throws -> StoredResponse
    /// The response to a refusal; nil for any other error, which must not be recorded.
    let refusal: @Sendable (any Error) -> StoredResponse?
  }

  private struct Contents: Sendable {
    var committed: Value
    /// The result of the last decided change, until it is published. Later units start from it.
    var pending: (value: Value, ticket: UInt64)?
    var tickets: UInt64 = 0
  }

  private struct Outcome: Sendable {
    let response: KeyedResponse
    let value: Value
  }

  private let contents: LockedState<Contents>
  private let storage: Storage
  private let writer: StoreWriter
  private let inFlightKeys: InFlightKeys
  private let eras: EraSource
  private let now: @Sendable () -> Timestamp
  private let notify: @Sendable (Value) -> Void

  /// `notify` is called after each committed change.
  init(
    _ value: Value,
    _ storage: Storage,
    _ shared: LedgerEnvironment,
    notify: @escaping @Sendable (Value) -> Void
  ) {
    contents = LockedState(Contents(committed: value))
    self.storage = storage
    (writer, inFlightKeys) = (shared.writer, shared.inFlightKeys)
    (eras, now) = (shared.eras, shared.now)
    self.notify = notify
  }

  var current: Value { contents.withLock { $0.committed } }

  var revision: Revision { contents.withLock { storage.revision($0.committed) } }

  /// The value for a unit of the writer, with changes that are not published yet.
  var latest: Value { contents.withLock { $0.pending?.value ?? $0.committed } }

  /// Changes the value in one transaction, and returns when the change is on disk. Throws errors of
  /// the change and of the store, `IdempotencyKeyInUseError` and `IdempotencyKeyReusedError`.
  func change(_ change: Change) async throws -> KeyedResponse {
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
        self.contents.withLock { $0.pending = (outcome.value, ticket) }
        return outcome
      } completion: {
        completion(self.publish($0, ticket))
      }
    }
  }

  /// Takes in the changes of other servers. `isWhole`: also if the present ones are not in the history
  /// any more.
  func refresh(from connection: StoreConnection, isWhole: Bool = false) throws {
    let before = revision
    let loaded = try storage.load(connection)
    let revision = storage.revision(loaded)
    let changed = contents.withLock { contents in
      let present = storage.revision(contents.committed)
      guard revision > present || isWhole && present == before && revision != present else { return false }
      contents.committed = loaded
      return true
    }
    if changed { notify(loaded) }
  }

  /// Takes in the changes of other servers, if there are any.
  func refreshIfOutdated(from connection: StoreConnection) throws {
    // After a failover of the database, the last revision may be lower.
    if try storage.lastRevision(connection) != revision { try refresh(from: connection, isWhole: true) }
  }

  private func run(_ change: Change, in connection: StoreConnection) throws -> Outcome {
    try change.agent?.expectStored(in: connection)
    var value = try storage.lock(latest, connection)
    guard let key = change.key else {
      let response = try perform(change, on: &value, in: connection)
      return Outcome(response: KeyedResponse(response: response), value: value)
    }
    let response = try IdempotencyRecords(connection: connection).once(key, of: change.owner, at: now()) {
      try perform(change, on: &value, in: connection)
    } refusal: {
      change.refusal($0)
    }
    return Outcome(response: response, value: value)
  }

  private func perform(
    _ change: Change,
    on value: inout Value,
    in connection: StoreConnection
  ) throws -> StoredResponse {
    try change.perform(&value, storage.revision(value).next(in: eras.current), connection)
  }

  private func publish(_ result: Result<Outcome, any Error>, _ ticket: UInt64) -> Result<KeyedResponse, any Error> {
    let changed = contents.withLock { contents -> Value? in
      // A later change's result stays pending until its own handler is called. After a failed
      // group, no unit runs before all handlers of the group have been called.
      if contents.pending?.ticket == ticket { contents.pending = nil }
      guard case .success(let outcome) = result else { return nil }
      let (present, new) = (storage.revision(contents.committed), storage.revision(outcome.value))
      // Another server's later change may have been read before.
      guard new != present, new.number >= present.number else { return nil }
      contents.committed = outcome.value
      return outcome.value
    }
    if let changed { notify(changed) }
    return result.map(\.response)
  }
}
