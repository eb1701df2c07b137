import LockstepAccounts
import LockstepModules
import LockstepScreens
import LockstepStore
import LockstepSync
import LockstepThreading
import LockstepTime

/// The states of users: in memory, in the ledgers that change them, and the requests that wait for them.
struct StateServices: Sendable {
  let cache: StateCache
  let waiters: WaiterRegistry<UserID>
  let commits: JournalNotifier
  let maintenance: HistoryMaintenance
  /// Finds users whose history is too old, and queues it for pruning.
  let historySweep: HistorySweep
  let registry: RegisteredLedger
  let declared: DeclaredLedger
  let ledger: Ledger
  let accountsLedger: AccountsLedger
  /// Takes in what other nodes commit.
  let memory: NodeMemory
  let refresher: StateRefresher

  init(
    _ configuration: Configuration,
    _ storage: StorageServices,
    _ accounts: AccountServices,
    _ modules: ModuleServices,
    _ encoding: EncodingServices,
    _ shared: LedgerEnvironment,
    reservedNames: [String],
    placement: WorkPlacement
  ) throws {
    cache = Self.cache(configuration, storage, accounts, modules)
    waiters = WaiterRegistry(configuration.waiting)
    commits = JournalNotifier(configuration.waiting) { [feed = storage.feed] in feed?.checkJournalSoon() }
    maintenance = HistoryMaintenance(
      pruning: JournalPruner(policy: configuration.history, history: modules.history),
      readers: storage.store.readers,
      writer: storage.writer,
      now: shared.now,
      executor: placement.taskExecutor
    )
    historySweep = HistorySweep(
      maintenance,
      policy: configuration.history,
      readers: storage.store.readers,
      isResponsible: { [feed = storage.feed] in feed?.isFirstNode ?? true },
      now: shared.now
    )
    registry = RegisteredLedger(try storage.store.write { try RegisteredDefaultsTable().load(from: $0) }, shared)
    declared = try Self.declared(storage, modules, shared, reservedNames, cache)
    ledger = Ledger(
      writer: try storage.writer.writeSetWriter(of: modules.tables),
      cache: cache,
      states: modules.tables,
      registry: registry,
      maintenance: maintenance,
      sessionEndings: accounts.stored.directory.sessionEndings,
      background: encoding.background,
      shared
    )
    accountsLedger = AccountsLedger(
      accounts: accounts.stored,
      readers: storage.store.readers,
      shared
    ) { [maintenance] in maintenance.noteRecord(of: $0, bytes: $1) }
    memory = NodeMemory(
      cache: cache,
      tables: modules.tables,
      directory: accounts.stored.directory,
      registry: registry,
      declared: declared,
      serviceTokens: accounts.serviceTokens,
      shared
    )
    refresher = StateRefresher(
      cache: cache,
      tables: modules.tables,
      registry: registry,
      declared: declared,
      memory: memory,
      readers: storage.store.readers
    )
  }

  private static func cache(
    _ configuration: Configuration,
    _ storage: StorageServices,
    _ accounts: AccountServices,
    _ modules: ModuleServices
  ) -> StateCache {
    StateCache(
      capacity: configuration.cacheBytes,
      readers: storage.readers,
      changes: accounts.stored.directory.changes
    ) { [tables = modules.tables] user, connection in
      let state = try tables.load(user, from: connection)
      // An erased user has an empty state too. The erasure is on disk before the session ends in
      // memory.
      if state.revision == .none, try !UserRecords(connection: connection).has(user) { throw SessionEndedError() }
      return state
    }
  }

  private static func declared(
    _ storage: StorageServices,
    _ modules: ModuleServices,
    _ shared: LedgerEnvironment,
    _ reservedNames: [String],
    _ cache: StateCache
  ) throws -> DeclaredLedger {
    let declared = try storage.store.write { connection in
      try DeclaredLedger(
        modules.all,
        reserved: reservedNames,
        from: connection,
        make: { .declared($0) },
        readers: storage.store.readers,
        cache: cache,
        shared
      )
    }
    if let module = modules.own.first(where: { declared.current.declared[$0.name.exact] != nil }) {
      throw InvalidModuleError(
        module.name,
        "the store declares a collection with this name. Delete the declaration, or rename the module."
      )
    }
    modules.tables.readDeclared { try declared.refresh(from: $0, isWhole: true) }
    return declared
  }
}
