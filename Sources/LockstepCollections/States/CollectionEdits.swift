/// The changes that a module's `reduce` has made to a collection. A store writes them to its
/// tables. They are recorded while the state changes, so a table always holds what clients see.
package enum CollectionEdits: Sendable {
  case list([ListEdit])
  case map([MapEdit])

  /// Whether the store must record the change's revision separately, because a row was removed or
  /// no row was written.
  package var needRemovalRecord: Bool {
    switch self {
    case .list(let edits): edits.isEmpty || removesRows
    case .map(let edits): edits.isEmpty || removesRows
    }
  }

  package var removesRows: Bool {
    switch self {
    case .list(let edits):
      edits.contains {
        switch $0 {
        case .removed, .cleared: true
        case .inserted, .modified, .moved: false
        }
      }
    case .map(let edits):
      edits.contains { if case .set = $0 { false } else { true } }
    }
  }
}

package enum ListEdit: Sendable {
  case inserted(ElementKey, EncodedJSON, ListGap)
  case modified(ElementKey, EncodedJSON)
  case moved(ElementKey, ListGap)
  case removed(ElementKey)
  case cleared
}

/// The place in a list to which an element came.
package struct ListGap: Sendable {
  /// The list without the element.
  package let list: ListState
  /// The index that the element got.
  package let index: Int

  package init(at index: Int, of list: ListState) {
    self.index = index
    self.list = list
  }
}

package enum MapEdit: Sendable {
  case set(ElementKey, EncodedJSON)
  case removed(ElementKey)
  case cleared
}

/// The `reduce` of a module's reactor, for a list or for a map.
package enum CollectionReducer: Sendable {
  case list(@Sendable (inout ListState, ListMutation) -> Void)
  case map(@Sendable (inout MapState, MapMutation) -> Void)

  package var kind: CollectionMutation.Kind {
    switch self {
    case .list: .list
    case .map: .map
    }
  }

  package var initialState: CollectionState {
    switch self {
    case .list: .list(ListState())
    case .map: .map(MapState())
    }
  }
}
