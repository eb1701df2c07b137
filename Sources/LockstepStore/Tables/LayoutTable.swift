import LockstepCollections
import LockstepJSON
import LockstepSQLite

extension UserModule {
  package var table: any CollectionTable {
    LayoutTable(of: self, storage ?? (kind == .list ? .sharedList : .sharedMap))
  }
}

/// A module's lists or maps in a table with a given layout. Makes the SQL of its statements once.
final class LayoutTable: CollectionTable {
  let module: String
  let kind: CollectionMutation.Kind
  private let layout: TableLayout
  private let statements: LayoutStatements

  init(of module: UserModule, _ layout: TableLayout) {
    self.module = module.name
    kind = module.kind
    self.layout = layout
    statements = layout.isShared ? .shared(kind) : LayoutStatements(layout, kind)
  }

  // MARK: Loading

  func load(into state: inout UserState, of user: UserID, from connection: SQLiteConnection) throws {
    // `SharedTable` reads all modules at once.
    if layout.isShared { return }
    var builder: PackedTreeBuilder?
    var part: [UInt8] = []
    // Reused for all rows.
    var element: [UInt8] = []
    try connection.forEach(statements.load, owner(user)) { row in
      if layout.part != nil, try builder == nil || !row.hasText(part, at: 2) {
        finish(&builder, part, &state)
        part = Array((try row[2] as String).utf8)
      }
      if builder == nil { builder = PackedTreeBuilder(kind) }
      let revision = Revision(rawValue: try row.integer(at: 1))
      switch layout.content {
      case .json:
        try row.withTexts(at: 0, statements.firstContentColumn) { id, json in
          builder?.append(id, json, revision: revision)
        }
      case .members(let members):
        element.removeAll(keepingCapacity: true)
        try encode(members, of: row, to: &element)
        try row.withText(at: 0) { builder?.append($0, element.span, revision: revision) }
      }
    }
    finish(&builder, part, &state)
  }

  /// Adds the collection that was built, if there is one.
  private func finish(_ builder: inout PackedTreeBuilder?, _ part: [UInt8], _ state: inout UserState) {
    guard var finished = builder.take() else { return }
    let part = layout.part.map { _ in String(decoding: part, as: UTF8.self) }
    state.collections[CollectionName(module, part: part)] = finished.state()
  }

  /// Appends an element, byte for byte as it was written.
  private func encode(_ members: [TableLayout.Member], of row: borrowing SQLiteRow, to bytes: inout [UInt8]) throws {
    bytes.append(contentsOf: #"{"id":"#.utf8)
    try row.withText(at: 0) { bytes.append(json: $0) }
    var column = statements.firstContentColumn
    for member in members {
      defer { column += 1 }
      if row.isNull(at: column) { continue }
      bytes.append(contentsOf: #",""#.utf8)
      bytes.append(contentsOf: member.name.utf8)
      bytes.append(contentsOf: #"":"#.utf8)
      try row.withText(at: column) { text in
        if member.isJSON { bytes.append(copying: text) } else { bytes.append(json: text) }
      }
    }
    bytes.append(UInt8(ascii: "}"))
  }

  func damagedRanks(of user: UserID, in connection: SQLiteConnection) throws -> [Int] {
    guard kind == .list else { return [] }
    var ranks: [Int] = []
    let bounds = [ListRanks.bounds.lowerBound.sqliteValue, ListRanks.bounds.upperBound.sqliteValue]
    try connection.forEach(statements.damagedRanks, owner(user) + bounds) { ranks.append(try $0[0]) }
    return ranks
  }

  // MARK: Writing

  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) throws {
    let owner = owner(location.user, location.collection.part)
    let revision = location.revision.sqliteValue
    switch edits {
    case .list(let edits):
      for edit in edits {
        switch edit {
        case .inserted(let id, let item, let gap):
          let rank = try ranks(of: owner, connection).rank(in: gap)
          var values = inserted(id, item, owner, revision)
          values.append(rank.sqliteValue)
          try connection.run(statements.insert, values)
        case .modified(let id, let item):
          var values = [revision]
          values.reserveCapacity(statements.valueCount)
          append(item, to: &values)
          values += owner
          values.append(id.sqliteValue)
          try connection.run(statements.replace, values)
        case .moved(let id, let gap):
          let rank = try ranks(of: owner, connection).rank(in: gap)
          try connection.run(statements.move, [rank.sqliteValue, revision] + owner + [id.sqliteValue])
        case .removed(let id): try connection.run(statements.remove, owner + [id.sqliteValue])
        case .cleared: try connection.run(statements.clear, owner)
        }
      }
    case .map(let edits):
      for edit in edits {
        switch edit {
        case .set(let key, let value): try connection.run(statements.insert, inserted(key, value, owner, revision))
        case .removed(let key): try connection.run(statements.remove, owner + [key.sqliteValue])
        case .cleared: try connection.run(statements.clear, owner)
        }
      }
    }
  }

  private func inserted(
    _ key: ElementKey,
    _ element: EncodedJSON,
    _ owner: [SQLiteValue],
    _ revision: SQLiteValue
  ) -> [SQLiteValue] {
    var values: [SQLiteValue] = []
    values.reserveCapacity(statements.valueCount)
    values += owner
    values.append(key.sqliteValue)
    values.append(revision)
    append(element, to: &values)
    return values
  }

  private func append(_ element: EncodedJSON, to values: inout [SQLiteValue]) {
    switch layout.content {
    case .json: values.append(.text(String(decoding: element.encoded, as: UTF8.self)))
    case .members(let members):
      let object = element.json.objectValue ?? JSONObject()
      for member in members {
        let value = object[member.name]
        values.append((member.isJSON ? value?.description : value?.stringValue).sqliteValue)
      }
    }
  }

  /// The values of the “owner” columns: see `LayoutStatements`.
  private func owner(_ user: UserID, _ part: String? = nil) -> [SQLiteValue] {
    var owner = [user.sqliteValue]
    if layout.isShared { owner.append(.text(module)) }
    if let part { owner.append(.text(part)) }
    return owner
  }

  private func ranks(of owner: [SQLiteValue], _ connection: SQLiteConnection) -> ListRanks {
    ListRanks(
      rank: { [statements] id in
        var rank: Int?
        try connection.forEach(statements.rank, owner + [id.sqliteValue]) { rank = try $0[0] }
        return rank
      },
      setRank: { [statements] item, rank in
        try connection.run(statements.setRank, [rank.sqliteValue] + owner + [item.id.sqliteValue])
      }
    )
  }
}

extension ElementKey {
  fileprivate var sqliteValue: SQLiteValue { .text(text) }
}

/// The SQL for a table. “Owner” means the columns for the user and, if any, module and part.
private struct LayoutStatements: Sendable {
  /// Result columns: key, revision, part if there is one, content. Values: owner without part.
  let load: SQLText
  let firstContentColumn: Int
  /// The largest number of values that a statement has.
  let valueCount: Int
  /// Values: owner, key, revision, content, a list's rank. Replaces the value of a map's key.
  let insert: SQLText
  /// Values: revision, content, owner, key.
  let replace: SQLText
  /// Values: rank, revision, owner, key.
  let move: SQLText
  /// Values: rank, owner, key.
  let setRank: SQLText
  /// Values: owner, key.
  let remove: SQLText
  let rank: SQLText
  /// Values: owner without part, the least and the greatest valid rank.
  let damagedRanks: SQLText
  /// Values: owner.
  let clear: SQLText

  /// Made once, because there may be thousands of declared collections.
  static func shared(_ kind: CollectionMutation.Kind) -> LayoutStatements { kind == .list ? sharedList : sharedMap }
  private static let sharedList = LayoutStatements(.sharedList, .list)
  private static let sharedMap = LayoutStatements(.sharedMap, .map)

  init(_ layout: TableLayout, _ kind: CollectionMutation.Kind) {
    let (table, key) = (layout.table, layout.key)
    let content: [String] =
      switch layout.content {
      case .json(let column): [column]
      case .members(let members): members.map(\.column)
      }
    let user = ["user_id"] + (layout.isShared ? ["module"] : [])
    let part = layout.part.map { [$0] } ?? []
    let owner = user + part
    func list(_ columns: [String]) -> String { columns.joined(separator: ", ") }
    func equal(_ columns: [String], _ separator: String = " AND ") -> String {
      columns.map { "\($0) = ?" }.joined(separator: separator)
    }
    let ranked = kind == .list ? ["rank"] : []
    // The rows of a map come in the order of the primary key, without sorting.
    let order = " ORDER BY " + list(kind == .list ? part + ["rank"] : part + [key])
    load = SQLText(
      "SELECT \(list([key, "revision"] + part + content)) FROM \(table) WHERE \(equal(user))\(order)"
    )
    firstContentColumn = 2 + part.count
    let inserted = owner + [key, "revision"] + content + ranked
    valueCount = inserted.count
    let places = list(inserted.map { _ in "?" })
    let replaced = list((["revision"] + content).map { "\($0) = excluded.\($0)" })
    insert = SQLText(
      "INSERT INTO \(table) (\(list(inserted))) VALUES (\(places))"
        + (kind == .map ? " ON CONFLICT (\(list(owner + [key]))) DO UPDATE SET \(replaced)" : "")
    )
    let row = equal(owner + [key])
    replace = SQLText("UPDATE \(table) SET \(equal(["revision"] + content, ", ")) WHERE \(row)")
    move = SQLText("UPDATE \(table) SET rank = ?, revision = ? WHERE \(row)")
    setRank = SQLText("UPDATE \(table) SET rank = ? WHERE \(row)")
    remove = SQLText("DELETE FROM \(table) WHERE \(row)")
    rank = SQLText("SELECT rank FROM \(table) WHERE \(row)")
    damagedRanks = SQLText("SELECT rank FROM \(table) WHERE \(equal(user)) AND rank NOT BETWEEN ? AND ?")
    clear = SQLText("DELETE FROM \(table) WHERE \(equal(owner))")
  }
}
