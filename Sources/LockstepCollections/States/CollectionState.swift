import LockstepJSON

/// A change of a collection. Applied to one state, it makes the next.
package enum CollectionMutation: Sendable, Equatable {
  case list(ListMutation)
  case map(MapMutation)

  package var kind: Kind {
    switch self {
    case .list: .list
    case .map: .map
    }
  }
}

/// A collection at one revision: a list or a map.
package enum CollectionState: Sendable, Equatable {
  case list(ListState)
  case map(MapState)

  package var kind: CollectionMutation.Kind {
    switch self {
    case .list: .list
    case .map: .map
    }
  }

  /// The last revision that changed it.
  package var revision: Revision {
    switch self {
    case .list(let list): list.revision
    case .map(let map): map.revision
    }
  }

  /// The collection, with the later one of its revision and this one.
  package func changed(at revision: Revision) -> CollectionState {
    switch self {
    case .list(var list):
      list.revision = max(list.revision, revision)
      return .list(list)
    case .map(var map):
      map.revision = max(map.revision, revision)
      return .map(map)
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
      let edits = list.recordEdits(in: revision) { list in
        for case .list(let mutation) in mutations { reduce(&list, mutation) }
      }
      self = .list(list)
      return .list(edits)
    case (.map(var map), .map(let reduce)):
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

extension CollectionState {
  private var tree: PackedTree {
    switch self {
    case .list(let list): list.elements.tree
    case .map(let map): map.tree
    }
  }

  /// The length of all elements or members as JSON, with the commas between them.
  package var length: Int { tree.length }

  /// The memory in bytes.
  package var memory: Int {
    switch self {
    case .list(let list): list.memory
    case .map(let map): map.memory
    }
  }

  /// The approximate memory in bytes, with its place in the user's state.
  package var cost: Int { 256 + memory }

  /// The memory that this version does not share with a later one, in bytes.
  package func memory(notIn later: CollectionState?) -> Int {
    // Equal collections share nothing if one of them was read from the store again.
    if let later, tree.isIdentical(to: later.tree) { return 0 }
    if tree.hasOneLeaf { return memory }
    return switch (self, later) {
    case (.list(let list), .list(let later)?): list.memory(notIn: later)
    case (.map(let map), .map(let later)?): map.memory(notIn: later)
    default: memory
    }
  }

  /// The texts of the elements, or of the members of a map, as JSON with commas between them. Each
  /// text has one or several elements. The texts are those in memory, without a copy.
  package var texts: [[UInt8]] {
    var texts: [[UInt8]] = []
    tree.forEachLeaf { texts.append($0.text) }
    return texts
  }

  /// The size of a comparison with a past version: the elements that are not in shared
  /// memory, and of these the ones that changed after a revision.
  package func changes(since revision: Revision, from past: CollectionState) -> (
    compared: Int, changed: Int, changedBytes: Int
  ) {
    let comparison = TreeComparison(past.tree, tree)
    var changes = (compared: 0, changed: 0, changedBytes: 0)
    for place in comparison.old { changes.compared += place.leaf.count }
    for place in comparison.new {
      changes.compared += place.leaf.count
      for (offset, entry) in place.leaf.entries.enumerated() where entry.revision > revision {
        changes.changed += 1
        changes.changedBytes += place.leaf.range(at: offset).count
      }
    }
    return changes
  }
}
