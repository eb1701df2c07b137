import LockstepCollections
import LockstepHTTP
import LockstepMiddleware
import LockstepModules
import LockstepStore
import LockstepSync

/// A part of a user's state that has a path. Its representation depends only on a `StateView`. So
/// the same code reads every resource, compares it, waits for it and finds it in the past.
enum StateResource: Sendable {
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
    case .suite(let name, nil): Suite.collection(name)
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
    case .suite(let suite, _), .value(let suite, _): .collection(Suite.collection(suite))
    }
  }

  /// The module of the resource.
  var module: String {
    switch extent {
    case .collection(let name): name.module
    case .module(let name): name
    }
  }

  /// Whether the module's collection still has the kind of this resource. A declared collection may have got
  /// another kind since the request arrived.
  func isServed(by module: UserModule) -> Bool {
    switch self {
    case .list, .element: module.kind == .list
    case .map, .entry, .suites, .suite, .value, .object: module.kind == .map
    }
  }

  /// False for a value of a suite that the user has not set: it may show a registered default. True
  /// for every other resource.
  func isOwn(in view: StateView) -> Bool {
    guard case .value(let suite, let key) = self else { return true }
    return view.state.map(Suite.collection(suite))[key] != nil
  }

  /// The part of a representation that is known without encoding it.
  enum KnownCursor: Equatable {
    case cursor(Cursor)
    /// The resource does not exist.
    case missing
    /// The cursor contains a digest of the content.
    case onlyWithContent
  }

  /// The cursor of the representation.
  func knownCursor(in view: StateView) -> KnownCursor {
    func known(_ revision: Revision?, detail: String? = nil) -> KnownCursor {
      revision.map { .cursor(view.cursor($0, detail: detail)) } ?? .missing
    }
    switch self {
    case .list(let query): return query.isWhole ? known(view.state.list(query.collection).revision) : .onlyWithContent
    case .element(let name, let id):
      guard let (index, item) = view.state.list(name).place(of: id) else { return .missing }
      return known(item.revision, detail: "i\(index)")
    case .map(let name, nil): return known(view.state.map(name).revision, detail: Self.mapDetail)
    case .object(let name, _): return known(view.state.map(name).revision)
    case .entry(let name, let key): return known(view.state.map(name)[key]?.revision)
    case .suite(let name, nil):
      let own = view.state.map(Suite.collection(name))
      let shown = view.shownRevision(of: name, behind: own.values)
      return .cursor(view.cursor(own.revision, registered: shown))
    case .value, .map, .suite, .suites: return .onlyWithContent
    }
  }

  /// Whether the resource shows a selected part of one collection, and depends on nothing else.
  var isPart: Bool {
    switch self {
    case .list(let query): !query.isWhole
    case .map(_, let prefix): prefix != nil
    case .element, .entry, .suites, .suite, .value, .object: false
    }
  }

  /// The revision of the collection of which the resource shows a part. Nil for any other resource.
  func sourceRevision(in view: StateView) -> Revision? {
    switch self {
    case .list(let query): isPart ? view.state.list(query.collection).revision : nil
    case .map(let name, _): isPart ? view.state.map(name).revision : nil
    case .element, .entry, .suites, .suite, .value, .object: nil
    }
  }

  /// The path of a query, with its parameters. Requests with the same path have the same representation of a
  /// state. Nil for any other resource.
  var queryPath: String? {
    guard case .list(let query) = self, query.elementQuery != nil else { return nil }
    return query.path
  }

  /// The cost of encoding the resource, in the unit of `BackgroundEncoder.Weight`.
  func weight(in view: StateView) -> Int {
    switch self {
    case .list(let query): return query.weight(of: view.state.list(query.collection))
    case .suite(let name, let prefix):
      let bytes = view.state.map(Suite.collection(name)).bytes
      guard prefix == nil, bytes > BackgroundEncoder.bound else { return bytes }
      return SuiteContent(name, prefix: nil, view).behind.isEmpty ? 0 : bytes
    case .map(_, nil): return 0
    case .map(let name, _): return view.state.map(name).bytes
    case .element, .entry, .suites, .value, .object: return 0
    }
  }

  /// The cost of comparing the resource with `If-Match`, in the unit of `BackgroundEncoder.Weight`. A
  /// refusal contains the resource in one piece, so a whole collection is not free here.
  func weightOfComparison(in view: StateView) -> Int {
    max(weight(in: view), wholeCollection.flatMap { view.state.collections[$0]?.length } ?? 0)
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
    if prefix == nil, map.length > Representation.longestArray {
      let content = [[UInt8]](#""count":\#(map.count),"values":{"#, map.texts, "}}")
      return Representation(cursor: view.cursor(map.revision, detail: mapDetail), rest: content)
    }
    let shown = prefix.map { map.values.values(withPrefix: $0) }
    var content = Array(#""count":\#(shown?.count ?? map.count),"values":"#.utf8)
    if let shown { content.append(object: shown.map { ($0.key.text, $0.value) }) } else { content.append(whole: map) }
    content.append(UInt8(ascii: "}"))
    let cursor = view.cursor(map.revision, detail: prefix == nil ? mapDetail : Digest.text(of: content))
    return Representation(cursor: cursor, rest: content)
  }

  /// Distinguishes an empty map from an empty list, because a collection may get another kind.
  private static let mapDetail = "m"

  private static func entry(_ key: String, of name: CollectionName, _ view: StateView) -> Representation? {
    view.state.map(name)[key].map { Representation(cursor: view.cursor($0.revision), body: $0.encoded) }
  }

  private static func element(_ id: String, of name: CollectionName, _ view: StateView) -> Representation? {
    let list = view.state.list(name)
    guard let (index, item) = list.place(of: id) else { return nil }
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
    if let own = view.state.map(Suite.collection(suite))[key] {
      return Representation(cursor: view.cursor(own.revision), body: own.encoded)
    }
    guard let registered = view.registered.value(of: key, in: suite, at: view.registeredRevision) else { return nil }
    let cursor = Cursor(store: view.store, revision: .none, registered: registered.revision, detail: "r")
    return Representation(cursor: cursor, body: registered.encoded)
  }

  private static func suites(_ view: StateView) -> Representation {
    var content = Array(#""suites":["#.utf8)
    let start = content.count
    var revision = Revision.none
    for (name, state) in view.state.collections(of: "defaults") {
      revision = max(revision, state.revision)
      guard state.count > 0 else { continue }
      if content.count > start { content.append(UInt8(ascii: ",")) }
      content.append(contentsOf: #"{"name":"#.utf8)
      content.append(json: name.part ?? "")
      content.append(contentsOf: #","count":\#(state.count),"bytes":\#(state.bytes)}"#.utf8)
    }
    content.append(contentsOf: "]}".utf8)
    return Representation(cursor: view.cursor(revision, detail: Digest.text(of: content)), rest: content)
  }

  private static func suite(_ name: String, prefix: String?, _ view: StateView) -> Representation {
    let shown = SuiteContent(name, prefix: prefix, view)
    if let map = shown.map, shown.behind.isEmpty, map.length > Representation.longestArray {
      let content = [[UInt8]](#""values":{"#, map.texts, #"},"registered":[]}"#)
      let cursor = view.cursor(shown.revision, registered: shown.registeredRevision)
      return Representation(cursor: cursor, rest: content)
    }
    var content: [UInt8] = []
    content.reserveCapacity((shown.map?.length ?? 0) + 64)
    content.append(contentsOf: #""values":"#.utf8)
    if let map = shown.map {
      content.append(whole: map, with: shown.behind)
    } else {
      content.append(object: shown.values.map { ($0.key.text, $0.value) })
    }
    content.append(contentsOf: #","registered":["#.utf8)
    for (index, (key, _)) in shown.behind.enumerated() {
      if index > 0 { content.append(UInt8(ascii: ",")) }
      content.append(json: key.text)
    }
    content.append(contentsOf: "]}".utf8)
    let detail = prefix == nil ? nil : Digest.text(of: content)
    let cursor = view.cursor(shown.revision, registered: shown.registeredRevision, detail: detail)
    return Representation(cursor: cursor, rest: content)
  }
}

extension Representation {
  /// A longer body is sent in pieces.
  static let longestArray = 64 * 1024

  /// A representation that is a JSON object with the cursor as its first member. `rest` is the text
  /// of the other members and the closing brace, in pieces.
  convenience init(cursor: Cursor, rest: [[UInt8]], link: String? = nil) {
    let body = BodyPieces([Array(#"{"cursor":"\#(cursor.text)","#.utf8)] + rest)
    self.init(cursor: cursor, body: body.count > Self.longestArray ? .pieces(body) : .bytes(body.joined), link: link)
  }
}

extension [[UInt8]] {
  private static let comma = [UInt8(ascii: ",")]

  /// The texts with commas between them, after `opening` and before `closing`.
  init(_ opening: String, _ texts: [[UInt8]], _ closing: String) {
    self = [Array<UInt8>(opening.utf8)]
    reserveCapacity(2 * texts.count + 2)
    for (index, text) in texts.enumerated() {
      if index > 0 { append(Self.comma) }
      append(text)
    }
    append(Array<UInt8>(closing.utf8))
  }
}

extension [UInt8] {
  fileprivate mutating func append(object members: [(name: String, value: MapValue)]) {
    append(UInt8(ascii: "{"))
    for (index, member) in members.enumerated() {
      if index > 0 { append(UInt8(ascii: ",")) }
      append(json: member.name)
      append(UInt8(ascii: ":"))
      append(contentsOf: member.value.text)
    }
    append(UInt8(ascii: "}"))
  }

  fileprivate mutating func append(whole map: MapState, with others: [(key: ElementKey, value: MapValue)] = []) {
    append(UInt8(ascii: "{"))
    map.appendText(to: &self, with: others)
    append(UInt8(ascii: "}"))
  }
}

/// The content of a suite: the user's own values, and the registered defaults for all other keys.
package struct SuiteContent {
  /// The user's own values; nil if only a part of them is shown.
  let map: MapState?
  /// The shown values of the user's own, in order.
  private let own: [(key: ElementKey, value: MapValue)]
  /// The shown registered defaults, in order.
  let behind: [(key: ElementKey, value: MapValue)]
  /// The revision at which the user last changed the suite.
  let revision: Revision
  /// The revision at which the visible registered defaults last changed.
  package let registeredRevision: Revision

  /// `prefix` selects the values by their keys.
  package init(_ name: String, prefix: String?, _ view: StateView) {
    let all = view.state.map(Suite.collection(name))
    let registered = view.registered.values(of: name, at: view.registeredRevision, behind: all)
    map = prefix == nil ? all : nil
    own = prefix.map { all.values.values(withPrefix: $0) } ?? []
    behind = prefix.map { prefix in registered.filter { $0.key.hasPrefix(prefix) } } ?? registered
    revision = all.revision
    registeredRevision = view.shownRevision(of: name, behind: all.values)
  }

  /// All shown values, in order.
  package var values: [(key: ElementKey, value: MapValue)] {
    ((map.map { Array($0.values) } ?? own) + behind).sorted { $0.key < $1.key }
  }
}
