import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepModules
import LockstepStore
import LockstepSync

/// A part of a user's state that has an address. Its representation depends on the state alone. So
/// all resources are read, compared, waited for and looked up in the past in the same way.
enum StateResource: Sendable, Equatable {
  /// A module's list.
  case list(ListQuery)
  /// An element of a list.
  case element(CollectionName, id: String)
  /// A module's map.
  case map(CollectionName, prefix: String?)
  /// A value of a map.
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

  /// Whether the user has set what the resource shows. A default that the user has not set shows
  /// the registered value.
  func isOwn(in view: StateView) -> Bool {
    guard case .value(let suite, let key) = self else { return true }
    return view.state.map(DefaultsAction.collection(suite))[key] != nil
  }

  /// The cost of encoding the resource: see `BackgroundEncoder`.
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

  /// Encodes the resource. Returns `nil` if it does not exist. Throws if a parameter matches
  /// nothing.
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
    var content = Array(#""count":\#(shown.count),"values":{"#.utf8)
    for (index, entry) in shown.sorted(by: { $0.key < $1.key }).enumerated() {
      if index > 0 { content.append(UInt8(ascii: ",")) }
      content.append(json: entry.key.text)
      content.append(UInt8(ascii: ":"))
      content.append(contentsOf: entry.value.encoded)
    }
    content.append(contentsOf: "}}".utf8)
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
    var body = [UInt8(ascii: "{")]
    for name in members {
      guard let value = map[name] else { continue }
      if body.count > 1 { body.append(UInt8(ascii: ",")) }
      body.append(json: name)
      body.append(UInt8(ascii: ":"))
      body.append(contentsOf: value.encoded)
    }
    body.append(UInt8(ascii: "}"))
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
    var content: [UInt8] = Array(#""values":{"#.utf8)
    for (index, entry) in shown.values.enumerated() {
      if index > 0 { content.append(UInt8(ascii: ",")) }
      content.append(json: entry.key.text)
      content.append(UInt8(ascii: ":"))
      content.append(contentsOf: entry.value.encoded)
    }
    content.append(contentsOf: #"},"registered":["#.utf8)
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

/// The content of a suite: the user's own values, and the registered defaults for all other keys.
struct SuiteContent {
  /// All values, sorted by key.
  let values: [(key: ElementKey, value: MapValue)]
  /// The keys whose values are registered defaults.
  let registered: [ElementKey]
  /// When the user last changed the suite.
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
