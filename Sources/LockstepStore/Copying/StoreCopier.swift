import LockstepSQLite

/// Copies all rows of a store into another one, and compares both.
///
/// Users are copied in the order of their ids, several hundred in a transaction. After an interruption, the
/// copy goes on after the last user in the target. At the end, the rows of both stores are read and
/// compared. Where they differ, because the source has changed since they were copied, the users are
/// copied again.
package struct StoreCopier {
  /// The number of rows of each table.
  package struct Counts: Sendable, Equatable {
    fileprivate(set) var rows: [String: Int] = [:]

    package subscript(table: String) -> Int { rows[table] ?? 0 }
    package var all: Int { rows.values.reduce(0, +) }
  }

  package enum Step: Sendable {
    case copying
    case comparing
  }

  /// A server has begun to use one of the stores.
  package struct ServedError: Error {
    package let name: String
  }

  /// The stores differ although all rows were copied twice.
  package struct DifferenceError: Error {
    package let table: String
  }

  private static let usersPerTransaction = 500
  /// The rows of one statement.
  private static let rowsPerInsert = 2_000
  private static let bytesPerInsert = 4 * 1024 * 1024

  private let source: any CopySide
  private let target: any CopySide

  package init(from source: any CopySide, to target: any CopySide) {
    (self.source, self.target) = (source, target)
  }

  /// Copies everything. Returns how many rows the target has.
  package func run(progress: (Step, _ users: Int) throws -> Void) throws -> Counts {
    try copyTables()
    var last = try lastUser()
    var done = 0
    while let end = try source.users(after: last, limit: Self.usersPerTransaction).last {
      let users = try copy(CopyRange(start: last, end: end), replacing: false)
      (last, done) = (end, done + users)
      try progress(.copying, done)
    }
    // The copies of an earlier run may be outdated, and users may have been erased since.
    try copyTables()
    return try compare { try progress(.comparing, $0) }
  }

  /// The last user in the target. Transactions copy whole users.
  private func lastUser() throws -> String {
    var last = CopyRange.lowest
    while let next = try target.users(after: last, limit: 10_000).last { last = next }
    return last
  }

  // MARK: Copying

  /// Replaces the rows that are not of users.
  private func copyTables() throws {
    let identity = try source.identity()
    try target.transaction {
      try target.setIdentity(identity)
      for table in CopiedTable.ofStore.reversed() { try target.deleteAll(of: table) }
      try source.snapshot {
        for table in CopiedTable.ofStore { try copy(table, .all) }
      }
    }
  }

  /// Copies the users of a range. Returns how many there are.
  @discardableResult
  private func copy(_ range: CopyRange, replacing: Bool) throws -> Int {
    for side in [source, target] where try side.isServed() { throw ServedError(name: side.name) }
    var users = 0
    try target.transaction {
      if replacing { try target.deleteUsers(in: range) }
      try source.snapshot {
        for table in CopiedTable.ofUsers {
          let count = try copy(table, range)
          if table.name == "users" { users = count }
        }
      }
    }
    return users
  }

  /// Returns how many rows were copied.
  @discardableResult
  private func copy(_ table: CopiedTable, _ range: CopyRange) throws -> Int {
    var (rows, bytes, count): ([CopiedTable.Row], Int, Int) = ([], 0, 0)
    func flush() throws {
      try target.insert(rows, into: table)
      count += rows.count
      rows.removeAll(keepingCapacity: true)
      bytes = 0
    }
    try source.read(table, range) { row in
      rows.append(row)
      for value in row { bytes += value.copiedBytes }
      if rows.count >= Self.rowsPerInsert || bytes >= Self.bytesPerInsert { try flush() }
    }
    try flush()
    return count
  }

  // MARK: Comparing

  /// The number of the rows of some tables, and the sum of their hashes, whatever their order.
  private struct Summary: Equatable {
    var count = 0
    var sum = SIMD2<UInt64>()

    mutating func add(_ row: CopiedTable.Row) {
      var bytes: [UInt8] = []
      for value in row {
        switch value {
        case .null: bytes.append(0)
        case .integer(let integer):
          bytes.append(1)
          withUnsafeBytes(of: integer.littleEndian) { bytes.append(contentsOf: $0) }
        case .text(let text): Self.append(2, text.utf8, to: &bytes)
        case .blob(let blob): Self.append(3, blob, to: &bytes)
        case .real: bytes.append(4)
        }
      }
      let hash = DomainHash.of("row", bytes, count: 16)
      var words = SIMD2<UInt64>()
      for index in 0..<16 { words[index / 8] = words[index / 8] << 8 | UInt64(hash[index]) }
      sum &+= words
      count += 1
    }

    private static func append(_ type: UInt8, _ contents: some Collection<UInt8>, to bytes: inout [UInt8]) {
      bytes.append(type)
      withUnsafeBytes(of: UInt64(contents.count).littleEndian) { bytes.append(contentsOf: $0) }
      bytes.append(contentsOf: contents)
    }
  }

  /// Compares all rows of both stores, and copies users again whose rows differ.
  private func compare(progress: (Int) throws -> Void) throws -> Counts {
    var counts = Counts()
    guard try source.identity() == target.identity() else { throw DifferenceError(table: "store") }
    let (store, copied) = (
      try summaries(of: source, CopiedTable.ofStore, .all), try summaries(of: target, CopiedTable.ofStore, .all)
    )
    if let table = store.first(where: { copied[$0.key] != $0.value })?.key { throw DifferenceError(table: table) }
    counts.add(store.mapValues(\.count))
    var last = CopyRange.lowest
    var done = 0
    while last != CopyRange.highest {
      // After the last user of the source, there must be none in the target.
      let end = try source.users(after: last, limit: Self.usersPerTransaction).last ?? CopyRange.highest
      let range = CopyRange(start: last, end: end)
      var expected = try summaries(of: source, CopiedTable.ofUsers, range)
      if try summaries(of: target, CopiedTable.ofUsers, range) != expected {
        try copy(range, replacing: true)
        expected = try summaries(of: source, CopiedTable.ofUsers, range)
        let found = try summaries(of: target, CopiedTable.ofUsers, range)
        if let table = expected.first(where: { found[$0.key] != $0.value })?.key { throw DifferenceError(table: table) }
      }
      counts.add(expected.mapValues(\.count))
      done += expected["users"]?.count ?? 0
      last = end
      try progress(done)
    }
    for side in [source, target] where try side.isServed() { throw ServedError(name: side.name) }
    return counts
  }

  private func summaries(
    of side: any CopySide,
    _ tables: [CopiedTable],
    _ range: CopyRange
  ) throws -> [String: Summary] {
    var summaries: [String: Summary] = [:]
    try side.snapshot {
      for table in tables {
        var summary = Summary()
        try side.read(table, range) { summary.add($0) }
        summaries[table.name] = summary
      }
    }
    return summaries
  }
}

extension StoreCopier.Counts {
  fileprivate mutating func add(_ counts: [String: Int]) {
    for (table, count) in counts { rows[table, default: 0] += count }
  }
}

extension Migrator {
  /// Throws if this program does not have the modules of a store.
  package func expectModules(of source: any CopySide) throws {
    try source.snapshot {
      try source.read(CopiedTable.modules, .all) { row in
        guard case .text(let name) = row[0], case .text(let kind) = row[1] else { return }
        try modules.check(name, kind: kind, of: source.name)
      }
    }
  }
}
