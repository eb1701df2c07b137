import LockstepJSON
import Synchronization

/// The identity of one declaration of a collection. An action has that of the declaration by which it was
/// checked.
package final class DeclaredVersion: Sendable {}

/// A declared collection with its module, as one change has made it.
// A class, because other parts compare its identity to see whether the declaration has changed.
package final class DeclaredModule: Sendable {
  package let declaration: DeclaredCollection
  /// The revision of the declared collections that made it.
  package let revision: Revision
  package let module: UserModule
  /// Whether all writes are refused, because the collection is being deleted or gets another kind.
  package var isClosing: Bool { module.isClosing }

  /// The declaration as administrators see it.
  package var json: JSON {
    guard isClosing, case .object(var object) = declaration.json else { return declaration.json }
    object[DeclaredCollection.deleting] = true
    return .object(object)
  }

  package init(
    _ declaration: DeclaredCollection,
    _ revision: Revision,
    _ module: UserModule,
    isClosing: Bool = false
  ) {
    (self.declaration, self.revision) = (declaration, revision)
    var module = module
    module.isClosing = isClosing
    module.version = DeclaredVersion()
    self.module = module
  }
}

/// All modules of a server at one moment.
package final class ModuleSet: Sendable {
  /// Lockstep's own modules, then those of the program.
  package let fixed: [UserModule]
  /// The declared collections by their names.
  package let declared: [ExactText: DeclaredModule]
  /// The names of declared collections that were deleted. Clients may still follow them.
  package let deleted: Set<ExactText>
  /// The last change of the declared collections.
  package let revision: Revision
  private let fixedByName: [ExactText: UserModule]

  package convenience init(_ fixed: [UserModule]) {
    self.init(
      fixed,
      Dictionary(fixed.map { ($0.name.exact, $0) }) { first, _ in first },
      declared: [:],
      deleted: [],
      revision: .none
    )
  }

  private init(
    _ fixed: [UserModule],
    _ fixedByName: [ExactText: UserModule],
    declared: [ExactText: DeclaredModule],
    deleted: Set<ExactText>,
    revision: Revision
  ) {
    (self.fixed, self.fixedByName, self.declared, self.revision) = (fixed, fixedByName, declared, revision)
    self.deleted = deleted
  }

  /// `deleted`: names of deleted collections, besides those of the present set.
  package func replacing(
    declared: [ExactText: DeclaredModule],
    deleted: Set<ExactText> = [],
    revision: Revision
  ) -> ModuleSet {
    let deleted = self.deleted.union(deleted).filter { declared[$0] == nil }
    return ModuleSet(fixed, fixedByName, declared: declared, deleted: deleted, revision: revision)
  }

  /// The fixed modules, then the declared collections in the order of their names.
  package var all: [UserModule] {
    fixed + declared.values.map(\.module).sorted { $0.name.exact < $1.name.exact }
  }

  package var names: [String] { fixed.map(\.name) + declared.keys.sorted().map(\.text) }

  /// The names for an error message, in order. There may be thousands, and one request may get the message
  /// hundreds of times.
  package var listing: String {
    made.withLock { made in
      if let made { return made }
      let shown = names.sorted()
      let more = shown.count > Self.listed ? " and \(shown.count - Self.listed) more" : ""
      let text = shown.prefix(Self.listed).joined(separator: ", ") + more
      made = text
      return text
    }
  }

  private static let listed = 50
  private let made = Mutex<String?>(nil)

  package subscript(name: String) -> UserModule? {
    let name = name.exact
    return fixedByName[name] ?? declared[name]?.module
  }
}

/// The modules of a server. Declared collections change while the server runs.
package final class Modules: Sendable {
  private let newest: Mutex<ModuleSet>
  private let changes = Atomic(0)

  package init(_ fixed: [UserModule]) { newest = Mutex(ModuleSet(fixed)) }

  /// Another number after each change. Quicker to read than the modules.
  package var version: Int { changes.load(ordering: .acquiring) }

  package var current: ModuleSet { newest.withLock { $0 } }

  package subscript(name: String) -> UserModule? { current[name] }

  package func publish(_ set: ModuleSet) {
    // Released after the lock, because a set may be large.
    let replaced = newest.withLock { newest -> ModuleSet in
      defer { newest = set }
      return newest
    }
    changes.add(1, ordering: .acquiringAndReleasing)
    withExtendedLifetime(replaced) {}
  }
}
