import LockstepCollections
import LockstepJSON

/// The copy of the user's state, as the server has sent it last.
struct ClientCopy: Sendable {
  private(set) var state = UserState()
  /// Nil before the first response.
  private(set) var position: ChangesDocument.Position?

  init() {}

  /// A stored copy.
  init(_ state: UserState, _ position: ChangesDocument.Position?) {
    (self.state, self.position) = (state, position)
  }

  /// Applies a response of the feed.
  mutating func apply(_ document: ChangesDocument) {
    if document.isReset { state.collections.removeAll() }
    apply(document.changesets, at: document.position)
  }

  /// Takes over the contents of the client's file.
  mutating func take(_ contents: StoreContents) {
    for name in state.collections.keys where !contents.names.contains(name) { state.collections[name] = nil }
    for (name, collection) in contents.collections { state.collections[name] = collection }
    apply(contents.changesets, at: contents.position)
  }

  private mutating func apply(_ changesets: [ChangesDocument.Changeset], at position: ChangesDocument.Position?) {
    let revision = Revision(number: position?.revision ?? 0)
    for changeset in changesets {
      // Taken out, so that a change does not copy it.
      let present = state.collections.removeValue(forKey: changeset.collection)
      state.collections[changeset.collection] = changeset.applied(to: present, at: revision)
    }
    self.position = position
  }

  /// Forgets the position, so that the next response has everything.
  mutating func forgetPosition() { position = nil }
}

extension ChangesDocument.Changeset {
  /// The collection after the change. Elements that did not change keep their memory.
  fileprivate func applied(to present: CollectionState?, at revision: Revision) -> CollectionState {
    switch change {
    case .items(let items):
      let list = ListState(
        items.map { item in
          ListItem(id: ElementKey(item.json["id"]?.stringValue ?? ""), encoded: item.encoded, revision: revision)
        },
        revision: revision
      )
      return .list(list)
    case .values(let values):
      let map = MapState(
        values.map { (ElementKey($0.key), MapValue(encoded: $0.value.encoded, revision: revision)) },
        revision: revision
      )
      return .map(map)
    case .list(let change):
      var list = ListState()
      if case .list(let known)? = present { list = known }
      _ = list.recordEdits(in: revision) { change.apply(to: &$0) }
      return .list(list)
    case .map(let set, let removed):
      var map = MapState()
      if case .map(let known)? = present { map = known }
      _ = map.recordEdits(in: revision) { map in
        for key in removed { map.apply(.removed(key: key)) }
        for (key, value) in set { map.apply(.set(key: key, value: value)) }
      }
      return .map(map)
    }
  }
}

extension ChangesDocument.ListChange {
  /// Removes deleted and moved elements, inserts new and moved ones by ascending index, and replaces
  /// modified ones.
  fileprivate func apply(to list: inout ListState) {
    for id in deletions { list.apply(.removed(id: id)) }
    var arrivals = insertions
    for move in moves {
      guard let item = list[move.id] else { continue }
      arrivals.append((move.to, move.id, EncodedJSON(.object(item.object), encoded: item.encoded)))
      list.apply(.removed(id: move.id))
    }
    arrivals.sort { $0.index < $1.index }
    for arrival in arrivals { list.apply(.inserted(id: arrival.id, item: arrival.item, index: arrival.index)) }
    for modification in modifications { list.apply(.modified(id: modification.id, item: modification.item)) }
  }
}
