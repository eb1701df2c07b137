/// The changes that a module's `reduce` has made to a collection. A store writes them to its
/// tables. They are recorded while the state changes, so a table always holds what clients see.
package enum CollectionEdits: Sendable {
  case list([ListEdit])
  case map([MapEdit])

  /// Whether the store must record the change's revision separately, because a row was removed or
  /// no row was written.
  package var needRemovalRecord: Bool {
    switch self {
    case .list(let edits):
      edits.isEmpty
        || edits.contains {
          switch $0 {
          case .removed, .cleared: true
          case .inserted, .modified, .moved: false
          }
        }
    case .map(let edits):
      edits.isEmpty || edits.contains { if case .set = $0 { false } else { true } }
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

/// A place in a list, between two neighbors. At an end of the list, one neighbor is nil.
package struct ListGap: Sendable, Equatable {
  package let previous: ElementKey?
  package let next: ElementKey?

  package init(after previous: ElementKey?, before next: ElementKey?) {
    self.previous = previous
    self.next = next
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
