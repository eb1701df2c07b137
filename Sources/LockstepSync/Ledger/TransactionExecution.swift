import LockstepCollections
import LockstepJSON
import LockstepSQLite
import LockstepStore
import LockstepTime

/// A user's state on its way from one revision to the next.
struct TransactionExecution {
  private(set) var state: UserState
  /// What each action did so far.
  private(set) var mutations: [[CollectionMutation]] = []
  private(set) var hasChanged = false
  /// How much was journaled of which collection, an entry an action.
  private(set) var factBytes: [(collection: CollectionName, bytes: Int)] = []

  private let revision: Revision
  private let transaction: Transaction
  private let before: LedgerView
  private let now: Timestamp

  init(_ before: LedgerView, of transaction: Transaction, in era: Era, now: Timestamp) {
    state = before.state
    revision = state.revision.next(in: era)
    self.transaction = transaction
    self.before = before
    self.now = now
  }

  /// Has each action decided, written and applied, in order. Throws where one is refused; what those before it wrote must
  /// be undone then.
  mutating func perform(_ actions: [UserAction], states: ModuleTables, connection: SQLiteConnection) throws {
    for (index, action) in actions.enumerated() {
      do {
        try perform(action, at: index, states: states, connection: connection)
      } catch let refusal as Refusal {
        throw ActionRefusal(index: index, refusal: refusal, view: before)
      }
    }
  }

  private mutating func perform(
    _ action: UserAction,
    at position: Int,
    states: ModuleTables,
    connection: SQLiteConnection
  ) throws {
    let decided = try decide(action)
    mutations.append(decided)
    guard !decided.isEmpty else { return }
    let place = MutationLocation(user: transaction.user, collection: action.collection, revision: revision)
    for mutation in decided {
      try write(mutation, at: place, states: states, to: connection)
      state.apply([mutation], to: action.collection, revision: revision)
    }
    let entry = entry(for: action, at: position, decided)
    state.written += entry.bytes
    try Journal(connection: connection).add(entry, of: transaction.user, written: state.written)
    factBytes.append((action.collection, entry.mutations.utf8.count))
    state.revision = revision
    hasChanged = true
  }

  // Functions of their own, so that no reference to the state outlives its use: `apply` would copy it then.

  private func decide(_ action: UserAction) throws -> [CollectionMutation] {
    try action.decide(UserAction.Surroundings(state: state, registered: before.registered, now: now))
  }

  private func write(
    _ mutation: CollectionMutation,
    at place: MutationLocation,
    states: ModuleTables,
    to connection: SQLiteConnection
  ) throws {
    let before = state.collections[place.collection] ?? CollectionState(for: mutation)
    try states.write(mutation, before: before, at: place, to: connection)
  }

  private func entry(for action: UserAction, at position: Int, _ decided: [CollectionMutation]) -> Journal.Entry {
    Journal.Entry(
      revision: revision,
      position: position,
      collection: action.collection,
      at: now,
      session: transaction.session.id,
      action: action.record,
      mutations: String(decoding: CollectionMutation.encoded(decided), as: UTF8.self)
    )
  }
}
