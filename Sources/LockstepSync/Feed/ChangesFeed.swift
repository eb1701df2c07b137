import LockstepCollections
import LockstepHTTP
import LockstepSQLite

/// Makes the documents of the feed: one changeset for each collection that has changed since a cursor.
package struct ChangesFeed: Sendable {
  /// The collections that a client follows.
  package struct Filter: Sendable, Hashable {
    /// Names of modules and of single collections; empty for all.
    package let names: [CollectionName]

    package init(names: [CollectionName]) {
      self.names = names
    }

    func includes(_ name: CollectionName) -> Bool {
      names.isEmpty || names.contains { $0 == name || ($0.part == nil && $0.module == name.module) }
    }
  }

  /// The question of a client. The same question has the same document at one state of the user.
  package struct Question: Sendable, Hashable {
    /// The revision of the registered defaults that are shown.
    let registered: Revision
    /// The cursor and the filter.
    let text: String

    package init(registered: Revision, text: String) {
      self.registered = registered
      self.text = text
    }
  }

  /// The body of a response.
  package struct Document: Sendable {
    package let cursor: Cursor
    package let body: [UInt8]
    /// Whether it contains no changeset.
    package let isEmpty: Bool
    /// The fields of every response with this body.
    package let fields: HeaderFields

    init(cursor: Cursor, body: [UInt8], isEmpty: Bool) {
      self.cursor = cursor
      self.body = body
      self.isEmpty = isEmpty
      var fields = HeaderFields()
      fields.append(.contentType, "application/json")
      fields.append(.cacheControl, "no-store")
      fields.append(.vary, "Authorization, Prefer, Accept")
      fields.append(.cursor, cursor.text)
      self.fields = fields
    }
  }

  /// The changed collections as they were at a cursor.
  package typealias Base = [CollectionName: CollectionState]

  package let store: String
  let history: StateHistory

  package init(store: String, history: StateHistory) {
    self.store = store
    self.history = history
  }

  // MARK: The base

  /// The collections that the user has changed since the cursor. Their past is needed.
  package func changed(since cursor: Cursor, in hot: CachedState, _ filter: Filter) -> [CollectionName] {
    hot.state.collections.filter { filter.includes($0.key) && $0.value.revision > cursor.revision }.map(\.key)
  }

  /// Whether the cursor may belong to the past of this store. Whether the user's history contains it must still be checked.
  package func canFollow(_ cursor: Cursor, _ hot: CachedState, _ registered: RegisteredDefaults) -> Bool {
    cursor.store == store && cursor.revision <= hot.state.revision && registered.knows(cursor.registered)
  }

  /// The base, from the states in memory; nil if they do not go back that far. With `isKnown`, the user's history is known to contain
  /// the cursor.
  package func base(_ cursor: Cursor, _ changed: [CollectionName], in hot: CachedState, isKnown: Bool) -> Base? {
    if changed.isEmpty { return isKnown || hot.knows(cursor.revision) ? [:] : nil }
    guard let past = hot.past(at: cursor.revision) else { return nil }
    var base = Base()
    for name in changed { base[name] = past.collections[name] }
    return base
  }

  /// The base, from the store; nil if the journal does not contain the cursor.
  package func base(
    _ cursor: Cursor,
    _ changed: [CollectionName],
    of user: UserID,
    from connection: SQLiteConnection
  ) throws -> Base? {
    guard try history.knows(cursor.revision, of: user, from: connection) else { return nil }
    return try history.rebuild(changed, of: user, at: cursor.revision, from: connection)
  }

  // MARK: Weights

  /// The weight of encoding the changes since a cursor.
  package func weight(since cursor: Cursor, base: Base, in state: UserState) -> Int {
    base.reduce(0) { weight, past in
      guard let present = state.collections[past.key] else { return weight }
      return weight + present.weight(since: cursor.revision, from: past.value)
    }
  }

  /// The weight of encoding all collections.
  package func weight(ofAll state: UserState, _ filter: Filter) -> Int {
    state.collections.reduce(0) { $0 + (filter.includes($1.key) ? $1.value.weight : 0) }
  }

  // MARK: Documents

  /// The changes since a cursor.
  package func changes(since cursor: Cursor, as text: String, base: Base, view: StateView, _ filter: Filter) throws
    -> Document
  {
    var changesets: [UInt8] = []
    for name in names(in: view.state, filter, view.registered) {
      let present = view.state.collections[name]
      let past = base[name]
      let hasChanged = (present?.revision ?? .none) > cursor.revision
      switch hasChanged ? (past ?? present) : present {
      case .list?:
        guard hasChanged else { continue }
        let old = if case .list(let list)? = past { list.items } else { [ListItem]() }
        let new = view.state.list(name).items
        _ = try CollectionChange.append(name, from: old, to: new, since: cursor.revision, into: &changesets)
      case .map?, nil:
        let now = view.state.map(name)
        let then = if hasChanged { if case .map(let map)? = past { map } else { MapState() } } else { now }
        let old = shown(then, of: name, view.registered, at: cursor.registered)
        let new = shown(now, of: name, view.registered, at: view.registeredRevision)
        _ = CollectionChange.append(name, from: old, to: new, into: &changesets)
      }
    }
    return document(since: text, at: view.cursor, isReset: false, changesets)
  }

  /// A reset, for a client whose cursor is unknown.
  package func reset(since text: String?, view: StateView, _ filter: Filter) -> Document {
    var changesets: [UInt8] = []
    let fixed = history.states.fixed.filter { filter.includes($0.name) }
    for name in Set(names(in: view.state, filter, view.registered) + fixed.map(\.name)).sorted() {
      let isList =
        switch view.state.collections[name] {
        case .list?: true
        case .map?: false
        case nil: fixed.first { $0.name == name }?.kind == .list
        }
      if isList {
        CollectionChange.append(name, whole: view.state.list(name).items, into: &changesets)
      } else {
        let values = shown(view.state.map(name), of: name, view.registered, at: view.registeredRevision)
        CollectionChange.append(name, whole: values, into: &changesets)
      }
    }
    return document(since: text, at: view.cursor, isReset: true, changesets)
  }

  /// A document without changesets.
  package func nothing(since text: String?, at cursor: Cursor) -> Document {
    document(since: text, at: cursor, isReset: false, [])
  }

  /// The collections that may have changed, in order.
  private func names(in state: UserState, _ filter: Filter, _ registered: RegisteredDefaults) -> [CollectionName] {
    let suites = registered.suiteNames.map { CollectionName("defaults", part: $0) }
    // A suite in the filter is included even if it never had a value.
    let named = filter.names.filter { $0.part != nil }
    return Set(Array(state.collections.keys) + suites + named).filter(filter.includes).sorted()
  }

  /// The values of a map that the user sees. A suite shows registered defaults for keys without an own value.
  private func shown(
    _ map: MapState,
    of name: CollectionName,
    _ registered: RegisteredDefaults,
    at revision: Revision
  ) -> [ElementKey: MapValue] {
    guard name.module == "defaults", let suite = name.part else { return map.values }
    return map.values.merging(registered.values(of: suite, at: revision)) { own, _ in own }
  }

  private func document(since text: String?, at cursor: Cursor, isReset: Bool, _ changesets: [UInt8]) -> Document {
    var body = Array(#"{"since":"#.utf8)
    if let text { body.append(json: text) } else { body.append(contentsOf: "null".utf8) }
    body.append(contentsOf: #","cursor":"\#(cursor.text)","reset":\#(isReset),"changesets":["#.utf8)
    body.append(contentsOf: changesets)
    body.append(contentsOf: "]}".utf8)
    return Document(cursor: cursor, body: body, isEmpty: changesets.isEmpty && !isReset)
  }
}

extension CollectionState {
  /// The weight of encoding the whole collection.
  package var weight: Int {
    switch self {
    case .list(let list): list.bytes + list.count * BackgroundEncoder.Weight.element
    case .map(let map): map.bytes + map.count * BackgroundEncoder.Weight.sortedElement
    }
  }

  /// The weight of encoding the changes since a revision, at which the collection was `past`.
  fileprivate func weight(since revision: Revision, from past: CollectionState) -> Int {
    switch self {
    case .list(let list):
      let staying = (list.count + past.count) * BackgroundEncoder.Weight.stayingElement
      return list.items.reduce(staying + max(0, past.count - list.count) * BackgroundEncoder.Weight.changedElement) {
        weight,
        item in
        item.revision <= revision ? weight : weight + BackgroundEncoder.Weight.changedElement + item.encoded.count
      }
    case .map: return weight + past.count * BackgroundEncoder.Weight.sortedElement
    }
  }
}
