import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepModules
import LockstepStore
import LockstepSync

/// A part of a user's state that has a path. Its representation depends only on a `StateView`. So
/// the same code reads every resource, compares it, waits for it and finds it in the past.
enum StateResource: Sendable, Equatable {
  case list(ListQuery)
  case element(CollectionName, id: String)
  case map(CollectionName, prefix: String?)
  case entry(CollectionName, key: String)
  case suites
  case suite(String, prefix: String?)
  case value(suite: String, key: String)
  /// A map as an object with these members, in this order.
  case object(CollectionName, members: [String])

  /// The collection if the resource shows all of it, otherwise `nil`. The representation of a whole
  /// collection is cached with the state.
  var wholeCollection: CollectionName? {
    switch self {
    case .list(let query): query.isWhole ? query.collection : nil
    case .map(let name, nil): name
    case .suite(let name, nil): DefaultsAction.collection(name)
    case .object(let name, _): name
    case .element, .map, .entry, .suites, .suite, .value: nil
    }
  }

  /// The collections that the resource depends on.
  var extent: StateHistory.Extent {
    switch self {
    case .list(let query): .collection(query.collection)
    case .element(let name, _), .map(let name, _), .entry(let name, _), .object(let name, _): .collection(name)
    case .suites: .module("defaults")
    case .suite(let suite, _), .value(let suite, _): .collection(DefaultsAction.collection(suite))
    }
  }

  /// False for a value of a suite that the user has not set: it may show a registered default. True
  /// for every other resource.
  func isOwn(in view: StateView) -> Bool {
    guard case .value(let suite, let key) = self else { return true }
    return view.state.map(DefaultsAction.collection(suite))[key] != nil
  }

  /// The cost of encoding the resource, in the unit of `BackgroundEncoder.Weight`.
  func weight(in view: StateView) -> Int {
    switch self {
    case .list(let query):
      let list = view.state.list(query.collection)
      let whole = CollectionState.list(list).weight
      guard let limit = query.limit, limit < list.count else { return whole }
      return whole / list.count * limit + list.count * BackgroundEncoder.Weight.stayingElement
    case .suite(let name, _): return CollectionState.map(view.state.map(DefaultsAction.collection(name))).weight
    case .map(let name, _): return CollectionState.map(view.state.map(name)).weight
    case .element, .entry, .suites, .value, .object: return 0
    }
  }

  /// Encodes the resource. Returns `nil` if it does not exist. Throws if a list does not have the
  /// element that the parameter `after` names.
  func representation(of view: StateView) throws(Problem) -> Representation? {
    switch self {
    case .list(let query): try query.representation(of: view)
    case .element(let name, let id): Self.element(id, of: name, view)
    case .map(let name, let prefix): Self.map(name, prefix: prefix, view)
    case .entry(let name, let key): Self.entry(key, of: name, view)
    case .suites: Self.suites(view)
    case .suite(let name, let prefix): Self.suite(name, prefix: prefix, view)
    case .value(let suite, let key): Self.value(suite, key, view)
    case .object(let name, let members): Self.object(name, members, view)
    }
  }

  private static func map(_ name: CollectionName, prefix: String?, _ view: StateView) -> Representation {
    let map = view.state.map(name)
    let shown = prefix.map { prefix in map.values.filter { $0.key.hasPrefix(prefix) } } ?? map.values
    var content = Array(#""count":\#(shown.count),"values":"#.utf8)
    content.append(object: shown.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) })
    content.append(UInt8(ascii: "}"))
    let cursor = view.cursor(map.revision, detail: prefix == nil ? nil : Digest.text(of: content))
    return Representation(cursor: cursor, body: Array(#"{"cursor":"\#(cursor.text)","#.utf8) + content)
  }

  private static func entry(_ key: String, of name: CollectionName, _ view: StateView) -> Representation? {
    view.state.map(name)[key].map { Representation(cursor: view.cursor($0.revision), body: $0.encoded) }
  }

  private static func element(_ id: String, of name: CollectionName, _ view: StateView) -> Representation? {
    let list = view.state.list(name)
    guard let item = list[id], let index = list.index(of: id) else { return nil }
    var body = item.encoded
    body.removeLast()
    body.append(contentsOf: #","index":\#(index)}"#.utf8)
    return Representation(cursor: view.cursor(item.revision, detail: "i\(index)"), body: body)
  }

  private static func object(_ name: CollectionName, _ members: [String], _ view: StateView) -> Representation {
    let map = view.state.map(name)
    var body: [UInt8] = []
    body.append(object: members.compactMap { name in map[name].map { (name, $0) } })
    return Representation(cursor: view.cursor(map.revision), body: body)
  }

  private static func value(_ suite: String, _ key: String, _ view: StateView) -> Representation? {
    if let own = view.state.map(DefaultsAction.collection(suite))[key] {
      return Representation(cursor: view.cursor(own.revision), body: own.encoded)
    }
    guard let registered = view.registered.value(of: key, in: suite, at: view.registeredRevision) else { return nil }
    let cursor = Cursor(store: view.store, revision: .none, registered: registered.revision, detail: "r")
    return Representation(cursor: cursor, body: registered.encoded)
  }

  private static func suites(_ view: StateView) -> Representation {
    var content: [UInt8] = []
    var revision = Revision.none
    for (name, state) in view.state.collections(of: "defaults") {
      revision = max(revision, state.revision)
      guard state.count > 0 else { continue }
      if !content.isEmpty { content.append(UInt8(ascii: ",")) }
      content.append(contentsOf: #"{"name":"#.utf8)
      content.append(json: name.part ?? "")
      content.append(contentsOf: #","count":\#(state.count),"bytes":\#(state.bytes)}"#.utf8)
    }
    let cursor = view.cursor(revision, detail: Digest.text(of: content))
    return Representation(
      cursor: cursor,
      body: Array(#"{"cursor":"\#(cursor.text)","suites":["#.utf8) + content + "]}".utf8
    )
  }

  private static func suite(_ name: String, prefix: String?, _ view: StateView) -> Representation {
    let shown = SuiteContent(name, prefix: prefix, view)
    var content: [UInt8] = Array(#""values":"#.utf8)
    content.append(object: shown.values.map { ($0.key.text, $0.value) })
    content.append(contentsOf: #","registered":["#.utf8)
    for (index, key) in shown.registered.enumerated() {
      if index > 0 { content.append(UInt8(ascii: ",")) }
      content.append(json: key.text)
    }
    content.append(contentsOf: "]}".utf8)
    let detail = prefix == nil ? nil : Digest.text(of: content)
    let cursor = view.cursor(shown.revision, registered: shown.registeredRevision, detail: detail)
    return Representation(cursor: cursor, body: Array(#"{"cursor":"\#(cursor.text)","#.utf8) + content)
  }
}

extension [UInt8] {
  fileprivate mutating func append(object members: [(name: String, value: MapValue)]) {
    append(UInt8(ascii: "{"))
    for (index, member) in members.enumerated() {
      if index > 0 { append(UInt8(ascii: ",")) }
      append(json: member.name)
      append(UInt8(ascii: ":"))
      append(contentsOf: member.value.encoded)
    }
    append(UInt8(ascii: "}"))
  }
}

/// The content of a suite: the user's own values, and the registered defaults for all other keys.
struct SuiteContent {
  /// All values, sorted by key.
  let values: [(key: ElementKey, value: MapValue)]
  /// The keys whose values are registered defaults.
  let registered: [ElementKey]
  /// The revision at which the user last changed the suite.
  let revision: Revision
  /// The revision at which the visible registered defaults last changed.
  let registeredRevision: Revision

  init(_ name: String, prefix: String?, _ view: StateView) {
    let own = view.state.map(DefaultsAction.collection(name))
    var behind = view.registered.values(of: name, at: view.registeredRevision).filter { own.values[$0.key] == nil }
    var all = own.values
    if let prefix {
      behind = behind.filter { $0.key.hasPrefix(prefix) }
      all = all.filter { $0.key.hasPrefix(prefix) }
    }
    registered = behind.keys.sorted()
    all.merge(behind) { own, _ in own }
    values = all.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    revision = own.revision
    registeredRevision = view.registered.shownRevision(of: name, behind: own.values, at: view.registeredRevision)
  }
}

/// The elements of a module's list that a request asks for. `prefix` selects elements by their ids.
/// `after` and `limit` select a page of them.
struct ListQuery: Sendable, Equatable {
  let collection: CollectionName
  var prefix: String?
  var after: String?
  var limit: Int?
  /// The parameter `at` as the client sent it: the cursor of a past state. The link to the next
  /// page repeats it.
  var at: String?

  var isWhole: Bool { prefix == nil && after == nil && limit == nil }

  init(_ collection: CollectionName, _ query: QueryParameters) throws(Problem) {
    self.collection = collection
    prefix = try query.text("prefix")
    after = try query.text("after")
    limit = try query.integer("limit", in: 1...1_000_000)
    at = try query.text("at")
  }

  init(_ collection: CollectionName) {
    self.collection = collection
  }

  func representation(of view: StateView) throws(Problem) -> Representation {
    let list = view.state.list(collection)
    let (page, count, hasMore) = try page(of: list)
    var content: [UInt8] = []
    content.reserveCapacity(page.reduce(128) { $0 + $1.encoded.count + 1 })
    content.append(contentsOf: #""count":\#(count),"items":["#.utf8)
    for (index, item) in page.enumerated() {
      if index > 0 { content.append(UInt8(ascii: ",")) }
      content.append(contentsOf: item.encoded)
    }
    content.append(contentsOf: "]}".utf8)
    let cursor = view.cursor(list.revision, detail: isWhole ? nil : Digest.text(of: content))
    let next = hasMore ? page.last.map { "<\(link(after: $0.id.text, at: view.cursor))>; rel=\"next\"" } : nil
    return Representation(cursor: cursor, body: Array(#"{"cursor":"\#(cursor.text)","#.utf8) + content, link: next)
  }

  private func page(of list: ListState) throws(Problem) -> (items: ArraySlice<ListItem>, count: Int, hasMore: Bool) {
    let matching = prefix.map { prefix in list.items.filter { $0.id.hasPrefix(prefix) } } ?? list.items
    var rest = matching[...]
    if let after {
      guard let index = matching.firstIndex(where: { $0.id == ElementKey(after) }) else {
        throw Problem(.invalidParameter, detail: "There is no element with the id “\(after)” to start after.")
      }
      rest = matching[(index + 1)...]
    }
    guard let limit, rest.count > limit else { return (rest, matching.count, false) }
    return (rest.prefix(limit), matching.count, true)
  }

  /// The link contains the cursor of this page's state. So if the list changes between two
  /// requests, the next page repeats no element and leaves none out.
  private func link(after id: String, at cursor: Cursor) -> String {
    var parameters = ["limit=\(limit ?? 0)", "after=\(PercentEncoding.text(id))"]
    if let prefix { parameters.append("prefix=\(PercentEncoding.text(prefix))") }
    parameters.append("at=\(at ?? cursor.text)")
    return "/v1/\(collection)?" + parameters.joined(separator: "&")
  }
}
