import LockstepAccounts
import LockstepCollections
import LockstepJSON
import LockstepStore
import LockstepThreading
import LockstepTime

/// The only part that changes declared collections.
///
/// A deletion has several steps, because its data may take long to find. First it closes the
/// collection, which refuses writes from then on. Then it looks for data and erases it. At last it
/// removes the declaration. A new declaration in between opens the collection again, and ends the deletion.
package final class DeclaredLedger: Sendable {
  package let modules: Modules
  private let ledger: SharedLedger<ModuleSet>
  private let writer: StoreWriter
  private let readers: StoreReaders
  private let make: @Sendable (DeclaredCollection) -> UserModule
  private let reserved: Set<ExactText>

  /// `reserved`: names that no declaration can have, besides those of other modules. `make` makes
  /// the module of a declaration.
  package init(
    _ modules: Modules,
    reserved: [String],
    from connection: StoreConnection,
    make: @escaping @Sendable (DeclaredCollection) -> UserModule,
    readers: StoreReaders,
    cache: StateCache,
    _ shared: LedgerEnvironment
  ) throws {
    (self.modules, self.readers, self.make) = (modules, readers, make)
    writer = shared.writer
    self.reserved = Set(reserved.map(\.exact) + modules.current.fixed.map(\.name.exact))
    let load = { @Sendable (connection: StoreConnection) throws -> ModuleSet in
      modules.current.replacing(try DeclaredCollectionsTable().load(from: connection), make: make)
    }
    let present = try load(connection)
    modules.publish(present)
    ledger = SharedLedger(
      present,
      SharedLedger.Storage(
        revision: \.revision,
        load: load,
        lock: { known, connection in
          guard case .postgreSQL = connection else { return known }
          let table = DeclaredCollectionsTable()
          try table.lock(in: connection)
          return try table.lastRevision(in: connection) == known.revision ? known : try load(connection)
        },
        lastRevision: { try DeclaredCollectionsTable().lastRevision(in: $0) }
      ),
      shared,
      notify: { set in
        let isOther = modules.current.declared.contains { name, module in
          set.declared[name]?.declaration.kind != module.declaration.kind
        }
        modules.publish(set)
        // A collection is gone or of another kind. The states in memory may have it, and its encoded form.
        if isOther { cache.forgetAll() }
        shared.observer.everythingChanged()
      }
    )
  }

  /// Why no declaration can have this name; nil if it can.
  package func fault(ofName name: String) -> String? {
    reserved.contains(name.exact) ? "The server itself uses the name \(name). Choose another name." : nil
  }

  package var current: ModuleSet { ledger.current }

  // MARK: Declaring

  /// A change of several declarations: all of them, or none.
  package struct Change: Sendable {
    let key: IdempotencyKey?
    let owner: IdempotencyKeyOwner
    /// The service token that makes the change, and must still exist.
    let agent: LiveServiceToken?
    let declarations: [DeclaredCollection]
    /// Throws if a precondition does not hold.
    let check: @Sendable (ModuleSet) throws -> Void
    /// Gets the sets before and after the change.
    let response: @Sendable (ModuleSet, ModuleSet) -> StoredResponse
    let refusal: @Sendable (any Error) -> StoredResponse?

    package init(
      _ declarations: [DeclaredCollection],
      key: IdempotencyKey? = nil,
      owner: IdempotencyKeyOwner = .administrator,
      by agent: LiveServiceToken? = nil,
      check: @escaping @Sendable (ModuleSet) throws -> Void = { _ in },
      response: @escaping @Sendable (ModuleSet, ModuleSet) -> StoredResponse,
      refusal: @escaping @Sendable (any Error) -> StoredResponse?
    ) {
      (self.declarations, self.key, self.owner, self.agent) = (declarations, key, owner, agent)
      (self.check, self.response, self.refusal) = (check, response, refusal)
    }
  }

  /// Declares collections, or replaces their declarations. Throws a refusal, errors of `check` and of
  /// the store, `IdempotencyKeyInUseError` and `IdempotencyKeyReusedError`.
  package func declare(_ change: Change) async throws -> KeyedResponse {
    var closings: [Closing] = []
    let result: Result<KeyedResponse, any Error>
    do {
      try await closeForOtherKinds(change, &closings)
      let emptied = Dictionary(closings.map { ($0.name.exact, $0.revision) }) { $1 }
      result = .success(
        try await ledger.change(
          SharedLedger.Change(
            key: change.key,
            owner: change.owner,
            agent: change.agent,
            perform: { [self] set, revision, connection in
              try change.check(set)
              let before = set
              try write(change.declarations, to: &set, revision, emptied, connection)
              return change.response(before, set)
            },
            refusal: change.refusal
          )
        )
      )
    } catch {
      result = .failure(error)
    }
    // Only those that were not changed are opened: a success may be a recorded refusal.
    for closing in closings { await undo(closing) }
    return try result.get()
  }

  private func write(
    _ declarations: [DeclaredCollection],
    to set: inout ModuleSet,
    _ revision: Revision,
    _ emptied: [ExactText: Revision],
    _ connection: StoreConnection
  ) throws {
    var declared = set.declared
    var changed: [DeclaredModule] = []
    for declaration in declarations {
      let name = declaration.name
      if let fault = fault(ofName: name) { throw Refusal.conflict(fault) }
      let present = declared[name.exact]
      if let present, present.matches(declaration) { continue }
      if let present, present.declaration.kind != declaration.kind, emptied[name.exact] != present.revision {
        throw Self.changed(name)
      }
      let new = DeclaredModule(declaration, revision, make(declaration))
      declared[name.exact] = new
      changed.append(new)
    }
    let limit = DeclaredCollection.Bounds.collections
    if declared.count > limit {
      throw Refusal.quotaExceeded("A store may have \(limit) declared collections, not \(declared.count).")
    }
    // Written after all checks, because the transaction may record a refusal.
    if changed.isEmpty { return }
    try DeclaredCollectionsTable().write(changed.map(\.stored), to: connection)
    set = set.replacing(declared: declared, revision: revision)
  }

  /// Closes the collections whose kind would change, and checks that no user has data in them.
  private func closeForOtherKinds(_ change: Change, _ closings: inout [Closing]) async throws {
    for declaration in change.declarations {
      guard let present = current.declared[declaration.name.exact], present.declaration.kind != declaration.kind else {
        continue
      }
      try change.check(current)
      let kind = present.declaration.kind
      do { closings.append(try await close(declaration.name, by: change.agent)) } catch Refusal.notFound {
        // It was deleted meanwhile, so the declaration is that of a new collection.
        continue
      }
      if try await hasData(declaration.name, kind) {
        throw Refusal.conflict(
          "Users have data in \(declaration.name), so its kind cannot change from \(kind.rawValue) to "
            + "\(declaration.kind.rawValue)."
        )
      }
      try await retire(declaration.name)
    }
  }

  // MARK: Deleting

  /// The steps of a deletion that other parts carry out.
  package struct Deletion: Sendable {
    let name: String
    let key: IdempotencyKey?
    let owner: IdempotencyKeyOwner
    let agent: LiveServiceToken?
    /// How to delete a collection with data, as a sentence.
    let hint: String
    let check: @Sendable (ModuleSet) throws -> Void
    /// Erases the data of a user; nil: a collection with data is not deleted.
    let erase: (@Sendable (UserID) async throws -> Void)?
    let refusal: @Sendable (any Error) -> StoredResponse?

    package init(
      of name: String,
      key: IdempotencyKey? = nil,
      owner: IdempotencyKeyOwner = .administrator,
      by agent: LiveServiceToken? = nil,
      hint: String,
      check: @escaping @Sendable (ModuleSet) throws -> Void = { _ in },
      erase: (@Sendable (UserID) async throws -> Void)?,
      refusal: @escaping @Sendable (any Error) -> StoredResponse?
    ) {
      (self.name, self.key, self.owner, self.agent, self.hint) = (name, key, owner, agent, hint)
      (self.check, self.erase, self.refusal) = (check, erase, refusal)
    }
  }

  /// Deletes a declaration. Throws as `declare` does.
  package func delete(_ deletion: Deletion, response: StoredResponse) async throws -> KeyedResponse {
    let name = deletion.name
    var closing: Closing?
    // If there is no such collection, the response may have been recorded for the key.
    if let present = current.declared[name.exact] {
      try deletion.check(current)
      let made = try await close(name, by: deletion.agent)
      closing = made
      do {
        try await empty(name, present.declaration.kind, hint: deletion.hint, deletion.erase)
        try await retire(name)
      } catch {
        // Without the rest of its data, it stays closed.
        if deletion.erase == nil { await undo(made) }
        throw error
      }
    }
    return try await ledger.change(
      SharedLedger.Change(
        key: deletion.key,
        owner: deletion.owner,
        agent: deletion.agent,
        perform: { [closing] set, revision, connection in
          guard let present = set.declared[name.exact] else { throw Self.missing(name) }
          guard present.revision == closing?.revision else { throw Self.changed(name) }
          try DeclaredCollectionsTable().remove(name, at: revision, from: connection)
          let rest = set.declared.filter { $0.key != name.exact }
          set = set.replacing(declared: rest, deleted: [name.exact], revision: revision)
          return response
        },
        refusal: deletion.refusal
      )
    )
  }

  private func empty(
    _ name: String,
    _ kind: CollectionMutation.Kind,
    hint: String,
    _ erase: (@Sendable (UserID) async throws -> Void)?
  ) async throws {
    guard let erase else {
      if try await hasData(name, kind) {
        throw Refusal.conflict("Users have data in \(name). \(hint)")
      }
      return
    }
    var last: UserID?
    while true {
      let page = try await users(with: name, kind, after: last, limit: Self.page)
      for user in page { try await erase(user) }
      guard let end = page.last else { return }
      last = end
    }
  }

  /// Ends the past of a closed collection without data. Otherwise a later collection with this name
  /// would look unchanged to a client that still has old elements.
  private func retire(_ name: String) async throws {
    var last: UserID?
    while true {
      let page = try await readers.read { [last] in
        try DeclaredCollectionsTable().users(withRecordOf: name, after: last, limit: Self.page, in: $0)
      }
      guard let first = page.first, let end = page.last else { return }
      try await withCompletion { completion in
        try writer.submit(
          { try RemovalRecords.retire(CollectionName(name), from: first, to: end, in: $0) },
          completion: completion
        )
      }
      last = end
    }
  }

  /// How many users one transaction or one look-up has.
  private static let page = 256

  /// A change that closed a collection for writes.
  private struct Closing: Sendable {
    let name: String
    let revision: Revision
    /// Whether the collection was open before. Otherwise an earlier deletion did not finish.
    let wasOpen: Bool
  }

  /// Refuses further writes to a collection. When this returns, all earlier writes are on disk.
  private func close(_ name: String, by agent: LiveServiceToken?) async throws -> Closing {
    let closing = try await setClosing(true, name, closedAt: nil, by: agent)
    // Transactions that were decided before the collection was closed are written before this unit.
    try await withCompletion { completion in
      try writer.submit({ _ in }, completion: completion)
    }
    return closing
  }

  /// Opens the collection if it was open before, and was not changed since it was closed.
  private func undo(_ closing: Closing) async {
    if closing.wasOpen { _ = try? await setClosing(false, closing.name, closedAt: closing.revision) }
  }

  private func setClosing(
    _ isClosing: Bool,
    _ name: String,
    closedAt: Revision?,
    by agent: LiveServiceToken? = nil
  ) async throws -> Closing {
    let made = LockedState(Closing(name: name, revision: .none, wasOpen: false))
    _ = try await ledger.change(
      SharedLedger.Change(
        key: nil,
        owner: .administrator,
        agent: agent,
        perform: { [self] set, revision, connection in
          guard let present = set.declared[name.exact] else { throw Self.missing(name) }
          if let closedAt, present.revision != closedAt { throw Self.changed(name) }
          let new = DeclaredModule(present.declaration, revision, make(present.declaration), isClosing: isClosing)
          try DeclaredCollectionsTable().write([new.stored], to: connection)
          var declared = set.declared
          declared[name.exact] = new
          set = set.replacing(declared: declared, revision: revision)
          made.withLock { $0 = Closing(name: name, revision: revision, wasOpen: !present.isClosing) }
          return StoredResponse(status: 204, fields: [], body: nil)
        },
        refusal: { _ in nil }
      )
    )
    return made.withLock { $0 }
  }

  private func hasData(_ name: String, _ kind: CollectionMutation.Kind) async throws -> Bool {
    try await !users(with: name, kind, after: nil, limit: 1).isEmpty
  }

  private func users(
    with name: String,
    _ kind: CollectionMutation.Kind,
    after user: UserID?,
    limit: Int
  ) async throws -> [UserID] {
    try await readers.read {
      try DeclaredCollectionsTable().users(with: name, of: kind, after: user, limit: limit, in: $0)
    }
  }

  private static func missing(_ name: String) -> Refusal { .notFound("There is no declared collection \(name).") }

  private static func changed(_ name: String) -> Refusal {
    .conflict("The declaration of \(name) was changed meanwhile. Read it, and repeat the request.")
  }

  // MARK: Other servers

  /// Takes in the changes of other servers. `isWhole`: also if the present ones are not in the history
  /// any more.
  package func refresh(from connection: StoreConnection, isWhole: Bool = false) throws {
    try ledger.refresh(from: connection, isWhole: isWhole)
  }

  /// Takes in the changes of other servers, if there are any.
  package func refreshIfOutdated(from connection: StoreConnection) throws {
    try ledger.refreshIfOutdated(from: connection)
  }
}
