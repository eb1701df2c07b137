import LockstepJSON

/// A fact about a collection: what did happen, enough on its own to get from one state to the next.
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

  /// How many bytes its elements take.
  package var bytes: Int {
    switch self {
    case .list(let list): list.bytes
    case .map(let map): map.bytes
    }
  }

  /// An empty collection of the kind that a fact belongs to.
  package init(for mutation: CollectionMutation) {
    switch mutation {
    case .list: self = .list(ListState())
    case .map: self = .map(MapState())
    }
  }

  /// Applies facts of one revision. Those of the other kind, as only a damaged journal could have them, change nothing.
  package mutating func apply(_ mutations: [CollectionMutation], revision: Revision) {
    switch self {
    case .list(var list):
      // The state holds nothing while it's worked on: a second reference would have every array copied.
      self = .list(ListState())
      list.revision = revision
      for case .list(let mutation) in mutations { list.apply(mutation) }
      self = .list(list)
    case .map(var map):
      self = .map(MapState())
      map.revision = revision
      for case .map(let mutation) in mutations { map.apply(mutation) }
      self = .map(map)
    }
  }
}
