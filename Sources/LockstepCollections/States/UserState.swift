/// All of a user's state at one revision: what was committed, or what a transaction is about to.
package struct UserState: Sendable {
  /// +1 for each transaction that changed anything.
  package var revision = Revision.none
  /// How many bytes the user's history has had up to here: see `Journal.End`. 0 for a state of the past.
  package var written = 0
  /// The collections that have ever been changed, by name.
  package var collections: [CollectionName: CollectionState] = [:]

  /// Nothing, as it's before the first transaction.
  package init() {}

  /// A list; empty where nothing has ever been in it.
  package func list(_ name: CollectionName) -> ListState {
    if case .list(let list)? = collections[name] { list } else { ListState() }
  }

  /// A map; empty where nothing has ever been in it.
  package func map(_ name: CollectionName) -> MapState {
    if case .map(let map)? = collections[name] { map } else { MapState() }
  }

  /// The module's collections, by name.
  package func collections(of module: String) -> [(name: CollectionName, state: CollectionState)] {
    collections.filter { $0.key.module == module }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Applies mutations of the revision that is being made, and returns what changed.
  package mutating func reduce(
    _ mutations: [CollectionMutation],
    in name: CollectionName,
    by reducer: CollectionReducer,
    revision: Revision
  ) -> CollectionEdits {
    // Taken out while it is worked on: a second reference would copy every array.
    var collection = collections.removeValue(forKey: name) ?? reducer.initialState
    let edits = collection.reduce(mutations, by: reducer, revision: revision)
    collections[name] = collection
    return edits
  }

  /// How many elements a collection has, and how many bytes they take.
  package func size(of name: CollectionName) -> (count: Int, bytes: Int) {
    collections[name].map { ($0.count, $0.bytes) } ?? (0, 0)
  }

  /// How many bytes the elements take.
  package var bytes: Int { collections.values.reduce(0) { $0 + $1.bytes } }

  /// About how much memory it takes without its elements.
  package var orderCost: Int { collections.values.reduce(256) { $0 + 64 + $1.count * 40 } }

  /// About how much memory it takes.
  package var cost: Int {
    collections.values.reduce(512) { $0 + 256 + $1.bytes + $1.count * 160 }
  }
}
