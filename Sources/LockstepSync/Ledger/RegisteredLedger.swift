import LockstepAccounts
import LockstepCollections
import LockstepStore
import LockstepTime

/// The only part that changes registered defaults.
package final class RegisteredLedger: Sendable {
  private let ledger: SharedLedger<RegisteredDefaults>
  private let now: @Sendable () -> Timestamp

  package init(_ registered: RegisteredDefaults, _ shared: LedgerEnvironment) {
    now = shared.now
    ledger = SharedLedger(
      registered,
      SharedLedger.Storage(
        revision: \.revision,
        load: { try RegisteredDefaultsTable().load(from: $0) },
        lock: { try RegisteredDefaultsTable().lock($0, in: $1) },
        lastRevision: { try RegisteredDefaultsTable().lastRevision(in: $0) }
      ),
      shared,
      notify: { shared.observer.registeredDefaultsCommitted($0) }
    )
  }

  package var current: RegisteredDefaults { ledger.current }

  package var revision: Revision { ledger.revision }

  /// The registered defaults for a unit of the writer, with changes that are not published yet.
  var latest: RegisteredDefaults { ledger.latest }

  package struct Change: Sendable {
    let suite: String
    let key: IdempotencyKey?
    let owner: IdempotencyKeyOwner
    let agent: LiveServiceToken?
    /// Returns the new values of keys; nil removes a key. Throws a refusal.
    let decide: @Sendable (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)]
    let response: @Sendable (RegisteredDefaults) -> StoredResponse
    /// The response to a refusal; nil for any other error, which must not be recorded.
    let refusal: @Sendable (any Error) -> StoredResponse?

    package init(
      suite: String,
      key: IdempotencyKey? = nil,
      owner: IdempotencyKeyOwner = .administrator,
      by agent: LiveServiceToken? = nil,
      decide: @escaping @Sendable (RegisteredDefaults) throws -> [(key: String, value: [UInt8]?)],
      response: @escaping @Sendable (RegisteredDefaults) -> StoredResponse,
      refusal: @escaping @Sendable (any Error) -> StoredResponse?
    ) {
      self.suite = suite
      self.key = key
      (self.owner, self.agent) = (owner, agent)
      self.decide = decide
      self.response = response
      self.refusal = refusal
    }
  }

  /// Changes values of a suite in one transaction, and returns when they are on disk. Throws errors
  /// of `decide` and of the store, `IdempotencyKeyInUseError` and `IdempotencyKeyReusedError`.
  package func change(_ change: Change) async throws -> KeyedResponse {
    try await ledger.change(
      SharedLedger.Change(
        key: change.key,
        owner: change.owner,
        agent: change.agent,
        perform: { [now] registered, revision, connection in
          let suite = change.suite
          let present = registered.values(of: suite)
          let changes = try change.decide(registered).filter { present[ElementKey($0.key)]?.encoded != $0.value }
          let table = RegisteredDefaultsTable()
          for (key, value) in changes {
            try table.write(key, in: suite, value: value, revision: revision, at: now(), to: connection)
            registered.apply(key, in: suite, value: value, revision: revision)
          }
          return change.response(registered)
        },
        refusal: change.refusal
      )
    )
  }

  /// Takes in the changes of other servers. `isWhole`: also if the present ones are not in the history
  /// any more.
  package func refresh(from connection: StoreConnection, isWhole: Bool = false) throws {
    try ledger.refresh(from: connection, isWhole: isWhole)
  }

  /// Takes in the changes of other servers, if there are any.
  func refreshIfOutdated(from connection: StoreConnection) throws {
    try ledger.refreshIfOutdated(from: connection)
  }
}
