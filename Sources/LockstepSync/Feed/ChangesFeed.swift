import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepStore

/// Computes the difference between a user's state and the state at a cursor, with one changeset for
/// each collection.
package struct ChangesFeed: Sendable {
  package struct Filter: Sendable, Hashable {
    /// Names of modules and of single collections, in order. Empty for all collections.
    package let names: [CollectionName]
    /// The same names, for a quick look-up.
    private let known: Set<CollectionName>

    /// A filter for all collections.
    package static let all = Filter([])

    package init(_ names: some Sequence<CollectionName>) {
      known = Set(names)
      self.names = known.sorted()
    }

    func includes(_ name: CollectionName) -> Bool {
      names.isEmpty || known.contains(name) || (name.part != nil && known.contains(CollectionName(name.module)))
    }
  }

  /// Identifies a document: for one state of a user, equal questions have equal documents.
  package struct Question: Sendable, Hashable {
    let registered: Revision
    /// `Modules.version`.
    let modules: Int
    /// The cursor and the collections that the client asks for.
    let text: ExactText

    package init(registered: Revision, modules: Int, text: String) {
      (self.registered, self.modules, self.text) = (registered, modules, text.exact)
    }

    /// The length of the text in bytes. A client chooses it: it may name many collections.
    var length: Int { text.text.utf8.count }
  }

  package struct Document: Sendable {
    /// The revision of the client's cursor. Nil: a reset.
    package let since: Revision?
    package let cursor: Cursor
    package private(set) var body: [UInt8]
    package let isEmpty: Bool
    package let fields: HeaderFields

    /// The end of a body without keys.
    fileprivate static let noKeys = Array(#","keys":[]}"#.utf8)

    init(since: Revision?, cursor: Cursor, body: [UInt8], isEmpty: Bool) {
      self.since = since
      self.cursor = cursor
      self.body = body
      self.isEmpty = isEmpty
      var fields = HeaderFields()
      fields.append(.contentType, "application/json")
      fields.append(.cacheControl, "no-store")
      fields.append(.vary, "Authorization, Prefer, Accept")
      fields.append(StatePosition(cursor: cursor.text, revision: cursor.revision.number))
      self.fields = fields
    }

    /// The same document for a client whose cursor was at an earlier revision. Nothing that it
    /// follows has changed in between.
    package func following(_ revision: Revision) -> Document {
      guard let since else { return self }
      return Document(since: min(since, revision), cursor: cursor, body: body, isEmpty: isEmpty)
    }

    /// The document for a session, with the idempotency keys of its own writes. All sessions share
    /// the document without keys.
    package func adding(_ keys: [String]) -> Document {
      if keys.isEmpty { return self }
      var document = self
      document.body.removeLast(2)
      for (index, key) in keys.enumerated() {
        if index > 0 { document.body.append(UInt8(ascii: ",")) }
        document.body.append(json: key)
      }
      document.body.append(contentsOf: "]}".utf8)
      return document
    }
  }

  /// The changed collections, as they were at a cursor.
  package typealias Base = [CollectionName: CollectionState]

  package let store: String
  let history: StateHistory

  package init(store: String, history: StateHistory) {
    self.store = store
    self.history = history
  }

  /// The collections that have changed since a cursor. Nil if one of them is not served any more.
  /// Then the client must start over, because only a reset removes a collection from its copy.
  package func changed(since cursor: Cursor, in cached: CachedState, _ filter: Filter) -> [CollectionName]? {
    if cached.state.unserved > cursor.revision { return nil }
    // Comparing revisions is cheap, and few collections have changed.
    let known = cached.state.collections.filter { $0.value.revision > cursor.revision && filter.includes($0.key) }
    if known.isEmpty { return [] }
    let served = served(known.map(\.key))
    return served.count == known.count ? served : nil
  }

  /// False if the cursor is certainly not in the user's history. True is no proof that it is.
  package func canFollow(_ cursor: Cursor, _ cached: CachedState, _ registered: RegisteredDefaults) -> Bool {
    cursor.store == store && cursor.revision <= cached.state.revision && registered.knows(cursor.registered)
  }

  /// The base from the states in memory; nil if they do not go back to the cursor. `isKnown` means
  /// that the cursor is already known to be in the user's history.
  package func base(_ cursor: Cursor, _ changed: [CollectionName], in cached: CachedState, isKnown: Bool) -> Base? {
    if changed.isEmpty { return isKnown || cached.knows(cursor.revision) ? [:] : nil }
    guard let past = cached.past(at: cursor.revision) else { return nil }
    var base = Base()
    for name in changed {
      // A collection that has got another kind since then begins as an empty one, as in `rebuild`.
      guard let then = past.collections[name], then.kind == cached.state.collections[name]?.kind else { continue }
      base[name] = then
    }
    return base
  }

  /// The base from the store; nil if the journal does not have the cursor's revision.
  package func base(
    _ cursor: Cursor,
    _ changed: [CollectionName],
    of user: UserID,
    _ cached: CachedState,
    from connection: StoreConnection
  ) throws -> Base? {
    guard try history.knows(cursor.revision, of: user, from: connection) else { return nil }
    let start = cached.milestone(upTo: cursor.revision)
    return try history.rebuild(changed, of: user, at: cursor.revision, after: start, from: connection)
  }

  package func weight(since cursor: Cursor, base: Base, in state: UserState) -> Int {
    base.reduce(0) { weight, past in
      guard let present = state.collections[past.key] else { return weight }
      return weight + present.weight(since: cursor.revision, from: past.value)
    }
  }

  package func weight(ofAll state: UserState, _ filter: Filter) -> Int {
    state.collections.reduce(0) { $0 + (filter.includes($1.key) ? $1.value.bytes : 0) }
  }

  package func changes(since cursor: Cursor, as text: String, base: Base, view: StateView, _ filter: Filter) -> Document
  {
    var changesets: [UInt8] = []
    for name in names(in: view.state, filter, view.registered) {
      let present = view.state.collections[name]
      let past = base[name]
      let hasChanged = (present?.revision ?? .none) > cursor.revision
      switch hasChanged ? (past ?? present) : present {
      case .list?:
        guard hasChanged else { continue }
        let old = if case .list(let list)? = past { list } else { ListState() }
        CollectionChange.append(name, ListDifference(from: old, to: view.state.list(name)), into: &changesets)
      case .map?, nil:
        let now = view.state.map(name)
        let then = if hasChanged { if case .map(let map)? = past { map } else { MapState() } } else { now }
        let changes = shownChanges(of: name, from: (then, cursor.registered), to: now, view)
        CollectionChange.append(name, changes, into: &changesets)
      }
    }
    return document(since: text, cursor.revision, at: view.cursor, changesets)
  }

  /// The document with whole collections, for a client that must start over.
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
        CollectionChange.append(name, whole: view.state.list(name), into: &changesets)
      } else {
        let own = view.state.map(name)
        let behind = suite(name).map { view.registered.values(of: $0, at: view.registeredRevision, behind: own) }
        CollectionChange.append(name, whole: own, behind ?? [], into: &changesets)
      }
    }
    return document(since: text, nil, at: view.cursor, changesets)
  }

  package func nothing(since text: String?, at cursor: Cursor) -> Document {
    document(since: text, cursor.revision, at: cursor, [])
  }

  /// Leaves out collections whose declarations were deleted.
  private func served(_ names: [CollectionName]) -> [CollectionName] {
    let modules = history.states.modules.current
    return names.filter { modules[$0.module] != nil }
  }

  /// The collections that a document may contain, in order.
  private func names(in state: UserState, _ filter: Filter, _ registered: RegisteredDefaults) -> [CollectionName] {
    let suites = registered.suiteNames.map { CollectionName("defaults", part: $0) }
    // A reset contains each suite that the request names, even if the suite was never written.
    let named = filter.names.filter { $0.part != nil }
    return Set(served(Array(state.collections.keys)) + suites + named).filter(filter.includes).sorted()
  }

  /// The keys whose visible values differ, in order, each with its new value. The values of a suite
  /// include the registered defaults of keys that the user has not set.
  private func shownChanges(
    of name: CollectionName,
    from then: (map: MapState, registered: Revision),
    to now: MapState,
    _ view: StateView
  ) -> [(key: ElementKey, value: MapValue?)] {
    var keys = then.map.changedKeys(in: now)
    guard let suite = suite(name) else { return keys.map { ($0, now.values[$0]) } }
    let revision = view.registeredRevision
    let registered = view.registered.changedKeys(of: suite, after: then.registered, upTo: revision)
    if !registered.isEmpty { keys = Set(keys + registered).sorted() }
    return keys.compactMap { key in
      func shown(_ map: MapState, _ revision: Revision) -> MapValue? {
        map.values[key] ?? view.registered.value(of: key.text, in: suite, at: revision)
      }
      let value = shown(now, revision)
      return shown(then.map, then.registered) == value ? nil : (key, value)
    }
  }

  /// The suite of defaults that is a collection's name; nil for any other collection.
  private func suite(_ name: CollectionName) -> String? { name.module == "defaults" ? name.part : nil }

  /// `since` is the revision of the client's cursor, or nil for a reset.
  private func document(since text: String?, _ since: Revision?, at cursor: Cursor, _ changesets: [UInt8]) -> Document {
    let isReset = since == nil
    var body = Array(#"{"since":"#.utf8)
    if let text { body.append(json: text) } else { body.append(contentsOf: "null".utf8) }
    body.append(
      contentsOf:
        #","cursor":"\#(cursor.text)","revision":\#(cursor.revision.number),"reset":\#(isReset),"changesets":["#.utf8
    )
    body.append(contentsOf: changesets)
    body.append(UInt8(ascii: "]"))
    body.append(contentsOf: Document.noKeys)
    return Document(since: since, cursor: cursor, body: body, isEmpty: changesets.isEmpty && !isReset)
  }
}

extension CollectionState {
  /// The cost of encoding the changes since a revision, at which the collection was `past`.
  fileprivate func weight(since revision: Revision, from past: CollectionState) -> Int {
    let changes = changes(since: revision, from: past)
    let changed = changes.changed + max(0, past.count - count)
    return changes.compared * BackgroundEncoder.Weight.comparedElement
      + changed * BackgroundEncoder.Weight.changedElement + changes.changedBytes
  }
}
