import LockstepCollections
import LockstepJSON
import LockstepSQLite

/// One of the two tables for modules without a table of their own. Reads all their collections of a
/// user at once.
struct SharedTable: Sendable {
  static let lists = SharedTable(.list, .sharedList, order: "rank")
  static let maps = SharedTable(.map, .sharedMap, order: "key")

  private let kind: CollectionMutation.Kind
  private let name: String
  private let read: SQLText
  private let readDamagedRanks: SQLText?

  private init(_ kind: CollectionMutation.Kind, _ layout: TableLayout, order: String) {
    self.kind = kind
    name = layout.table
    guard case .json(let content) = layout.content else { preconditionFailure("A shared table holds JSON.") }
    read = SQLText(
      "SELECT \(layout.key), revision, module, \(content) FROM \(name) WHERE user_id = ? ORDER BY module, \(order)"
    )
    readDamagedRanks =
      kind == .list
      ? SQLText("SELECT module, rank FROM \(name) WHERE user_id = ? AND rank NOT BETWEEN ? AND ?") : nil
  }

  /// Adds the collections of a user. Leaves out those of modules that the server does not have.
  func load(
    into state: inout UserState,
    of user: UserID,
    from connection: SQLiteConnection,
    entry: (_ module: String) -> ModuleTables.Entry?
  ) throws {
    var builder: PackedTreeBuilder?
    var (module, text) = ("", [UInt8]())
    var present: ModuleTables.Entry?
    func finish() {
      if var finished = builder.take() { state.collections[CollectionName(module)] = finished.state() }
    }
    try connection.forEach(read, [user.sqliteValue]) { row in
      if try text.isEmpty || !row.hasText(text, at: 2) {
        finish()
        module = try row[2]
        text = Array(module.utf8)
        present = entry(module)
        builder = present?.reducer.kind == kind ? PackedTreeBuilder(kind) : nil
      }
      guard let present, builder != nil else { return }
      let revision = Revision(rawValue: try row.integer(at: 1))
      try row.withTexts(at: 0, 3) { id, element in
        guard present.canRead(element) else {
          throw ElementDamagedError(
            user: user,
            table: name,
            collection: CollectionName(module),
            id: String(copying: id)
          )
        }
        builder?.append(id, element, revision: revision)
      }
    }
    finish()
  }

  /// The ranks of a user's lists that are not within `ListRanks.bounds`, by module.
  func damagedRanks(of user: UserID, in connection: SQLiteConnection) throws -> [ExactText: [Int]] {
    guard let readDamagedRanks else { return [:] }
    var ranks: [ExactText: [Int]] = [:]
    let bounds = [ListRanks.bounds.lowerBound.sqliteValue, ListRanks.bounds.upperBound.sqliteValue]
    try connection.forEach(readDamagedRanks, [user.sqliteValue] + bounds) { row in
      ranks[(try row[0] as String).exact, default: []].append(try row[1])
    }
    return ranks
  }
}

extension String {
  fileprivate init(copying bytes: Span<UInt8>) {
    var copy: [UInt8] = []
    copy.append(copying: bytes)
    self.init(decoding: copy, as: UTF8.self)
  }
}
