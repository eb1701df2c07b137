import Synchronization

/// All of a user's state at one revision. The revision is committed, or a transaction is about to
/// commit it.
package struct UserState: Sendable {
  /// The number of transactions that have changed the state.
  package var revision = Revision.none
  /// The size of the user's history up to this revision, in bytes (see `Journal.End`). 0 for a past
  /// state.
  package var written = 0
  /// The collections that have ever been changed, by name.
  package var collections: [CollectionName: CollectionState] = [:] {
    didSet { (version, change) = (Version(), nil) }
  }

  /// The last revision that removed something from a collection that the server does not have any
  /// more, or that has got another kind since then. Only states that were read from the store know
  /// it.
  package var unserved = Revision.none
  /// Where the past of collections ended that were deleted or got another kind. Only states that
  /// were read from the store know it.
  package var ends: [CollectionName: Revision] = [:]

  /// Identifies the contents of `collections`. Copies of a state have the same version.
  private var version = Version()
  /// The change of the last revision, if `reduce` made it.
  private var change: Change?

  package init() {}

  package func list(_ name: CollectionName) -> ListState {
    if case .list(let list)? = collections[name] { list } else { ListState() }
  }

  package func map(_ name: CollectionName) -> MapState {
    if case .map(let map)? = collections[name] { map } else { MapState() }
  }

  /// The collections of a module, in the order of their names.
  package func collections(of module: String) -> [(name: CollectionName, state: CollectionState)] {
    collections.filter { $0.key.module == module }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Applies the mutations of one revision to a collection, and returns the edits.
  package mutating func reduce(
    _ mutations: [CollectionMutation],
    in name: CollectionName,
    by reducer: CollectionReducer,
    revision: Revision
  ) -> CollectionEdits {
    var collection = collections[name] ?? reducer.initialState
    // Only an empty collection can have another kind: that of an earlier declaration.
    if collection.kind != reducer.kind { collection = reducer.initialState }
    let edits = collection.reduce(mutations, by: reducer, revision: revision)
    // Taken out, so that `append` does not copy the names.
    var latest = change.take() ?? Change(revision: revision, base: version)
    if latest.revision != revision { latest = Change(revision: revision, base: version) }
    latest.names.append(name)
    collections[name] = collection
    change = latest
    return edits
  }

  /// The collections that were changed to make this state directly from an earlier one. Nil if it
  /// was not made in this way, for example because the earlier state was read from the store again.
  package func names(changedSince earlier: UserState) -> Set<CollectionName>? {
    if version == earlier.version { return [] }
    guard let change, change.base == earlier.version else { return nil }
    return Set(change.names)
  }

  package func size(of name: CollectionName) -> (count: Int, bytes: Int) {
    collections[name].map { ($0.count, $0.bytes) } ?? (0, 0)
  }

  /// The approximate memory in bytes.
  package var cost: Int { collections.values.reduce(512) { $0 + $1.cost } }

  /// The approximate memory in bytes that each version of the state needs for itself. A dictionary
  /// takes 117 to 235 bytes for each collection, depending on how full it is.
  package var unsharedMemory: Int { 256 + collections.count * 192 }

  /// The memory of the collections that this state does not share with a later one, in bytes.
  package func memory(notIn later: UserState) -> Int {
    if let names = later.names(changedSince: self) {
      return names.reduce(0) { $0 + (collections[$1]?.memory(notIn: later.collections[$1]) ?? 0) }
    }
    return collections.reduce(0) { $0 + $1.value.memory(notIn: later.collections[$1.key]) }
  }

  private struct Change {
    let revision: Revision
    let base: Version
    var names: [CollectionName] = []
  }

  /// A number that no other version has.
  private struct Version: Equatable {
    private static let count = Atomic<UInt64>(0)
    private let number = count.add(1, ordering: .relaxed).newValue
  }
}
