import LockstepCollections
import LockstepJSON

/// The table `modules`: the modules with which servers have used the store.
///
/// A server refuses a store if an earlier server used it with a module that this server does not
/// have. Cursors, journal and snapshots contain the module's state. A server without the module would
/// omit its changes from responses and its state from exports. It would lose the module's history
/// when it pruned the journal.
struct ModuleRecords {
  let connection: StoreConnection
  /// The store in messages.
  let store: String

  /// Records the modules of this program. Throws if the store has others.
  func add(_ modules: [UserModule], at now: Int64) throws {
    let names = try checked(modules)
    for module in modules where !names.contains(module.name.exact) {
      let kind = module.kind.rawValue
      try connection.run("INSERT INTO modules (name, kind, added_at) VALUES (?, ?, ?)", module.name, kind, now)
    }
  }

  /// The names of the recorded modules. Throws if this program does not have one of them, or has it
  /// with another kind.
  @discardableResult
  func checked(_ modules: [UserModule]) throws -> Set<ExactText> {
    let recorded = try connection.all("SELECT name, kind FROM modules ORDER BY name") { row in
      (name: try row[0] as String, kind: try row[1] as String)
    }
    for (name, kind) in recorded { try modules.check(name, kind: kind, of: store) }
    return Set(recorded.map(\.name.exact))
  }
}

extension [UserModule] {
  /// Throws if a recorded module of a store is not one of these modules.
  func check(_ name: String, kind: String, of store: String) throws(StoreError) {
    guard let module = first(where: { $0.name.hasSameBytes(as: name) }) else {
      throw .missingModule(path: store, module: name)
    }
    if module.kind.rawValue != kind { throw .otherKindOfModule(path: store, module: name, kind: kind) }
  }
}
