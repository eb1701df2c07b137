import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepModules
import LockstepStore
import LockstepSync

/// Writes everything that is stored about a user, as one JSON document of one moment.
///
/// The document is written in pieces, because a journal may be larger than memory. All pieces are
/// of one moment, because the state stays in memory until the last piece is written, and journal
/// entries and snapshots never change. If entries or snapshots are deleted meanwhile, the document
/// ends early, and the client sees that it is incomplete.
package struct UserExport: Sendable {
  let store: String
  /// The members of the document that describe the account. Nil if there is no such user.
  let account: @Sendable (UserID, StoreConnection) throws -> JSONObject?
  let states: ModuleTables
  /// The user's state in memory, if it is there.
  let present: @Sendable (UserID) -> UserState?
  let registered: @Sendable () -> Revision
  let readers: UserReaders
  package let own: [UserModule]
  package var modules: Modules { states.modules }

  /// The members of the document. A declared collection has a member with its name.
  package static let members = [
    "user", "sessions", "cursor", "favorites", "defaults", "profile", "modules", "journal", "snapshots",
    "idempotencyKeys",
  ]

  package init(
    store: String,
    account: @escaping @Sendable (UserID, StoreConnection) throws -> JSONObject?,
    states: ModuleTables,
    present: @escaping @Sendable (UserID) -> UserState?,
    registered: @escaping @Sendable () -> Revision,
    readers: UserReaders,
    own: [UserModule]
  ) {
    self.store = store
    self.account = account
    self.states = states
    self.present = present
    self.registered = registered
    self.readers = readers
    self.own = own
  }

  /// The contents of the document. Nil if there is no such user.
  package func contents(of user: UserID, from network: Int?) async throws -> Contents? {
    try await readers.read(for: user, from: network) { try gather(of: user, from: $0) }
  }

  /// The short parts of a document, and the names of the long parts.
  package struct Contents: Sendable {
    package let position: StatePosition
    /// The beginning of the document: an opening brace and the account's members.
    let account: [UInt8]
    let state: UserState
    /// The journal's first revision; nil if the journal is empty.
    let journal: Revision?
    let snapshots: [Snapshots.Name]
    let longestSnapshot: Int
    let keys: [UInt8]

    /// About how many bytes are in memory while the document is written.
    package var cost: Int { state.cost + longestSnapshot + keys.count }

    /// Equal tags mean equal documents. The cursor determines the state. The cursor and the first
    /// revision determine the journal.
    package var tag: String {
      let kept = snapshots.map { "\($0.collection) \($0.revision.rawValue)" }.joined(separator: "\n")
      return Digest.text(of: account + keys + Array("\(position.cursor) \(journal?.rawValue ?? 0)\n\(kept)".utf8))
    }
  }

  private func gather(of user: UserID, from connection: StoreConnection) throws -> Contents? {
    // Read before the first statement, because the first statement fixes what all statements see.
    // The state in memory must not be newer.
    let present = present(user)
    guard let account = try account(user, connection) else { return nil }
    let journal = Journal(connection: connection)
    let snapshots = Snapshots(connection: connection)
    let last = try journal.lastRevision(of: user)
    // The state in memory may be older than the store.
    let state = if let present, present.revision == last { present } else { try states.load(user, from: connection) }
    var keys: [UInt8] = []
    for (key, at) in try IdempotencyRecords(connection: connection).keys(of: user) {
      keys.append(contentsOf: (keys.isEmpty ? #"{"key":"# : #",{"key":"#).utf8)
      keys.append(json: key)
      keys.append(contentsOf: #","at":"\#(at)"}"#.utf8)
    }
    return Contents(
      position: StatePosition(
        cursor: Cursor(store: store, revision: state.revision, registered: registered()).text,
        revision: state.revision.number
      ),
      account: JSON.object(account).encoded().dropLast(),
      state: state,
      journal: try journal.firstRevision(of: user),
      snapshots: try snapshots.names(of: user),
      longestSnapshot: try snapshots.longest(of: user),
      keys: keys
    )
  }

  package func write(
    _ contents: Contents,
    of user: UserID,
    from network: Int?,
    to writer: any BodyWriter
  ) async throws {
    var pieces = PieceBuffer(writer: writer)
    try await pieces.append(contents.account)
    try await pieces.append(#","cursor":"\#(contents.position.cursor)","favorites":"#.utf8)
    try await pieces.append(.list(contents.state.list(CollectionName("favorites"))))
    try await pieces.append(#","defaults":{"#.utf8)
    for (name, state) in contents.state.collections(of: "defaults") {
      try await pieces.append(name: name.part ?? "")
      try await pieces.append(state)
    }
    try await pieces.append(#"},"profile":"#.utf8)
    try await pieces.append(.map(contents.state.map(CollectionName("profile"))))
    if !own.isEmpty { try await write(modulesOf: contents, to: &pieces) }
    for declared in modules.current.declared.values.sorted(by: { $0.declaration.name < $1.declaration.name }) {
      try await write(declared.module, of: contents, to: &pieces)
    }
    try await pieces.append(#","journal":["#.utf8)
    try await write(journalOf: user, from: network, contents, to: &pieces)
    try await pieces.append(#"],"snapshots":["#.utf8)
    // Snapshots are all that remains of history whose journal entries were pruned.
    for name in contents.snapshots { try await write(name, of: user, from: network, to: &pieces) }
    try await pieces.append(#"],"idempotencyKeys":["#.utf8)
    try await pieces.append(contents.keys)
    try await pieces.append("]}".utf8)
    try await pieces.send()
  }

  private func write(modulesOf contents: Contents, to pieces: inout PieceBuffer) async throws {
    try await pieces.append(#","modules":{"#.utf8)
    for module in own {
      try await write(module, of: contents, to: &pieces)
    }
    try await pieces.append("}".utf8)
  }

  private func write(_ module: UserModule, of contents: Contents, to pieces: inout PieceBuffer) async throws {
    let name = CollectionName(module.name)
    try await pieces.append(name: module.name)
    switch module.kind {
    case .list: try await pieces.append(.list(contents.state.list(name)))
    case .map: try await pieces.append(.map(contents.state.map(name)))
    }
  }

  private func write(
    journalOf user: UserID,
    from network: Int?,
    _ contents: Contents,
    to pieces: inout PieceBuffer
  ) async throws {
    guard let first = contents.journal else { return }
    let (store, end) = (store, contents.state.revision)
    var slice = try await readers.read(for: user, from: network) { connection in
      let journal = Journal(connection: connection)
      guard try journal.firstRevision(of: user) == first else { throw JournalSlice.PrunedError() }
      return try JournalSlice(of: user, after: .none, upTo: end, from: journal, store: store)
    }
    try await pieces.append(element: slice.takeText())
    while slice.hasMore {
      slice = try await readers.read(for: user, from: network) { [slice] in
        try slice.next(from: Journal(connection: $0))
      }
      try await pieces.append(element: slice.takeText())
    }
  }

  /// Writes a snapshot: its collection, its cursor, and its items or values.
  private func write(
    _ name: Snapshots.Name,
    of user: UserID,
    from network: Int?,
    to pieces: inout PieceBuffer
  ) async throws {
    // The reader thread encodes the snapshot, because the collection in memory is several times as
    // large as its text.
    let (isList, text) = try await readers.read(for: user, from: network) { connection in
      let found = try Snapshots(connection: connection).latest(of: name.collection, of: user, upTo: name.revision)
      guard let found, found.revision == name.revision else { throw JournalSlice.PrunedError() }
      let isList = if case .list = found.state { true } else { false }
      return (isList, found.state.text)
    }
    let cursor = Cursor(store: store, revision: name.revision).text
    try await pieces.append(element: #"{"collection":"#.utf8)
    try await pieces.append(JSON.string(name.collection.description).encoded())
    try await pieces.append(#","cursor":"\#(cursor)","\#(isList ? "items" : "values")":"#.utf8)
    var start = 0
    while start < text.count {
      let end = min(text.count, start + PieceBuffer.length)
      try await pieces.append(text[start..<end])
      start = end
    }
    try await pieces.append("}".utf8)
  }
}

/// Joins the many short parts of a body into pieces of useful size. Keeps no part while the writer
/// waits for the client.
private struct PieceBuffer {
  static let length = 64 * 1024

  let writer: any BodyWriter
  private var bytes: [UInt8] = []
  /// The last byte that was sent.
  private var sent: UInt8?

  init(writer: any BodyWriter) { self.writer = writer }

  mutating func append(_ part: consuming some Collection<UInt8>) async throws {
    bytes.append(contentsOf: consume part)
    if bytes.count >= Self.length { try await send() }
  }

  /// Appends an element of an array or object, or the first part of an element whose rest follows.
  /// A comma comes before it, unless it is the first one.
  mutating func append(element: consuming some Collection<UInt8>) async throws {
    separate()
    try await append(consume element)
  }

  mutating func append(name: String) async throws {
    separate()
    bytes.append(json: name)
    try await append(":".utf8)
  }

  mutating func append(_ state: CollectionState) async throws {
    let (opening, closing) = state.brackets
    try await append(opening.utf8)
    for text in state.texts { try await append(element: text) }
    try await append(closing.utf8)
  }

  mutating func send() async throws {
    let piece = bytes
    sent = bytes.last
    bytes = []
    if !piece.isEmpty { try await writer.write(consume piece) }
  }

  private mutating func separate() {
    let last = bytes.last ?? sent
    if last != UInt8(ascii: "["), last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
  }
}

extension CollectionState {
  /// The texts before and after the elements.
  fileprivate var brackets: (opening: String, closing: String) {
    switch self {
    case .list: ("[", "]")
    case .map: ("{", "}")
    }
  }

  fileprivate var text: [UInt8] {
    let (opening, closing) = brackets
    return Array(opening.utf8) + texts.joined(separator: CollectionOfOne(UInt8(ascii: ","))) + closing.utf8
  }
}
