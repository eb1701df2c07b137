import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepTime

/// Runs a transaction in memory and collects its writes. The store is written later, so a refusal
/// has nothing to undo.
struct TransactionExecution {
  private(set) var state: UserState
  private(set) var mutations: [[CollectionMutation]] = []
  private(set) var writes: WriteSet

  private let transaction: Transaction
  private let before: LedgerView
  private let tables: ModuleTables
  private let revision: Revision
  private let now: Timestamp
  private let budget: WorkBudget

  init(
    _ before: LedgerView,
    of transaction: Transaction,
    in era: Era,
    tables: ModuleTables,
    now: Timestamp,
    budget: WorkBudget
  ) {
    state = before.state
    writes = WriteSet(user: transaction.user)
    revision = before.state.revision.next(in: era)
    self.transaction = transaction
    self.before = before
    self.tables = tables
    self.now = now
    self.budget = budget
  }

  var hasChanged: Bool { !writes.actions.isEmpty }

  /// Stops when the budget is exhausted. Then the result, or the error, means nothing.
  mutating func run() throws {
    for (index, action) in transaction.actions.enumerated() {
      guard !budget.isExhausted else { return }
      do {
        try run(action, at: index)
      } catch let refusal as Refusal {
        throw ActionRefusal(index: index, refusal: refusal, view: before)
      }
    }
  }

  private mutating func run(_ action: UserAction, at position: Int) throws {
    let name = action.collection.module
    guard let module = tables[name] else { throw Refusal.notFound("There is no collection \(name) any more.") }
    if module.isClosing, !action.isErasure {
      throw Refusal.conflict("\(name) is closed for writes: it is being deleted, or gets another kind.")
    }
    if module.isReadOnly, transaction.session.agent == nil {
      throw Refusal.forbidden("Only the administrator and service tokens can change \(name).")
    }
    // The action was checked by another schema, for example while it waited for an encoder thread.
    if let version = action.version, version !== module.version { throw DeclarationChangedError() }
    let decided = try action.decide(
      ActionContext(state: state, registered: before.registered, now: now, budget: budget)
    )
    guard !budget.isExhausted else { return }
    // The request may have arrived before the collection got another kind.
    if decided.contains(where: { $0.kind != module.reducer.kind }) {
      throw Refusal.conflict("\(name) has got another kind. Read it again.")
    }
    mutations.append(decided)
    guard !decided.isEmpty else { return }
    let size = state.size(of: action.collection)
    let edits = state.reduce(decided, in: action.collection, by: module.reducer, revision: revision)
    try module.quota?.check(size, state.size(of: action.collection), of: name)
    let text = String(decoding: CollectionMutation.encoded(decided), as: UTF8.self)
    budget.spend(bytes: text.utf8.count)
    state.written += action.record.utf8.count + text.utf8.count
    let entry = JournalEntry(
      revision: revision,
      position: position,
      collection: action.collection,
      at: now,
      session: transaction.session.agent == nil ? transaction.session.id : nil,
      agent: transaction.session.agent?.name,
      action: action.record,
      mutations: text,
      written: state.written
    )
    writes.actions.append((edits, entry))
    state.revision = revision
  }
}
