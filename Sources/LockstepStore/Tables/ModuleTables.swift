import LockstepCollections
import LockstepJSON
import LockstepSQLite
import LockstepThreading

/// The modules of a server, as the store's tables have them: a user's whole state on disk.
package struct ModuleTables: Sendable {
  /// The parts of a module that a transaction needs. A class, because each write gets one, and
  /// copying a reference is cheap.
  package final class Entry: Sendable {
    /// How the module's collections change.
    package let reducer: CollectionReducer
    /// Whether only the administrator and service tokens may write.
    package let isReadOnly: Bool
    /// Whether all writes are refused, except those that erase all data.
    package let isClosing: Bool
    /// See `UserModule.version`.
    package let version: DeclaredVersion?
    /// Nil if the module's reactor itself checks how much a user may have.
    package let quota: CollectionQuota?

    private let reads: (@Sendable ([UInt8]) -> Bool)?

    fileprivate init(_ module: UserModule) {
      reads = module.canRead
      reducer = module.reducer
      isReadOnly = module.isReadOnly
      isClosing = module.isClosing
      version = module.version
      quota = module.quota
    }

    /// Whether the module's own type can read a stored element.
    func canRead(_ element: Span<UInt8>) -> Bool {
      guard let reads else { return true }
      var bytes: [UInt8] = []
      bytes.append(copying: element)
      return reads(bytes)
    }
  }

  /// The modules. Declared ones change while the server runs.
  package let modules: Modules
  private let fixedEntries: [ExactText: Entry]
  /// Entries of declared collections, each with the declaration that it was made for.
  private let declaredEntries = LockedState<[ExactText: (module: DeclaredModule, entry: Entry)]>([:])

  private let reader = LockedState<(@Sendable (StoreConnection) throws -> Void)?>(nil)

  package init(_ modules: [UserModule]) { self.init(Modules(modules)) }

  /// Sets the function that reads the declared collections again when another server has changed them.
  package func readDeclared(by read: @escaping @Sendable (StoreConnection) throws -> Void) {
    reader.withLock { $0 = read }
  }

  func readDeclaredAgain(from connection: StoreConnection) throws { try reader.withLock { $0 }?(connection) }

  package init(_ modules: Modules) {
    self.modules = modules
    fixedEntries = Dictionary(uniqueKeysWithValues: modules.current.fixed.map { ($0.name.exact, Entry($0)) })
  }

  package subscript(module: String) -> Entry? {
    let module = module.exact
    return fixedEntries[module] ?? declaredEntry(module)
  }

  /// The collections of modules with exactly one collection. Every user has them.
  package var fixed: [(name: CollectionName, kind: CollectionMutation.Kind)] {
    modules.current.all.filter { !$0.hasParts }.map { (CollectionName($0.name), $0.kind) }
  }

  private func declaredEntry(_ name: ExactText) -> Entry? {
    let present = modules.current.declared[name]
    return declaredEntries.withLock { entries in
      guard let present else {
        entries[name] = nil
        return nil
      }
      if let known = entries[name], known.module === present { return known.entry }
      let entry = Entry(present.module)
      entries[name] = (present, entry)
      return entry
    }
  }

  /// Writes a transaction: the changes to the tables, the entries of the journal, and the record of
  /// the response.
  @usableFromInline
  func apply(_ writes: WriteSet, to connection: SQLiteConnection) throws {
    let user = writes.user
    let rows = CollectionRows(connection: connection)
    for (edits, entry) in writes.actions {
      try rows.apply(edits, at: MutationLocation(user: user, collection: entry.collection, revision: entry.revision))
    }
    let journal = Journal(connection: .sqlite(connection))
    for (_, entry) in writes.actions { try journal.add(entry, of: user) }
    guard let record = writes.record else { return }
    try IdempotencyRecords(connection: .sqlite(connection))
      .record(record.response, to: record.key, of: .user(user), at: record.at, record.origin)
  }
}
