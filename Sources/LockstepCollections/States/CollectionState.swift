import LockstepJSON

/// A change of a collection. Applied to one state, it makes the next.
package enum CollectionMutation: Sendable, Equatable {
  case list(ListMutation)
  case map(MapMutation)
}

/// A collection at one revision: a list or a map.
package enum CollectionState: Sendable, Equatable {
  case list(ListState)
  case map(MapState)

  /// The last revision that changed it.
  package var revision: Revision {
    switch self {
    case .list(let list): list.revision
    case .map(let map): map.revision
    }
  }

  package var count: Int {
    switch self {
    case .list(let list): list.count
    case .map(let map): map.count
    }
  }

  /// The size of its elements in bytes.
  package var bytes: Int {
    switch self {
    case .list(let list): list.bytes
    case .map(let map): map.bytes
    }
  }

  /// Applies one revision's mutations with the module's `reduce`, and returns the edits. Mutations
  /// of the wrong kind, which only a damaged journal has, change nothing.
  package mutating func reduce(
    _ mutations: [CollectionMutation],
    by reducer: CollectionReducer,
    revision: Revision
  ) -> CollectionEdits {
    switch (self, reducer) {
    case (.list(var list), .list(let reduce)):
      // The enum must not hold the list during the change. With a second reference, each change
      // would copy the list's arrays.
      self = .list(ListState())
      let edits = list.recordEdits(in: revision) { list in
        for case .list(let mutation) in mutations { reduce(&list, mutation) }
      }
      self = .list(list)
      return .list(edits)
    case (.map(var map), .map(let reduce)):
      self = .map(MapState())
      let edits = map.recordEdits(in: revision) { map in
        for case .map(let mutation) in mutations { reduce(&map, mutation) }
      }
      self = .map(map)
      return .map(edits)
    case (.list, .map): return .list([])
    case (.map, .list): return .map([])
    }
  }
}
