import Foundation
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepSQLiteStore

@Suite("Copies of a database", .timeLimit(.minutes(10)))
struct CopyTests {
  private struct GivenUp: Error {}

  private let folder: TemporaryDirectory
  private let source: SQLiteConnection

  init() throws {
    folder = try TemporaryDirectory()
    source = try SQLiteConnection(storeAt: folder.file("source.db"))
    try source.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, filler BLOB) STRICT")
    try source.transaction { for number in 1...40 { try Self.insert(number, source) } }
  }

  private static func insert(_ number: Int, _ connection: SQLiteConnection) throws {
    try connection.run("INSERT INTO kept (number, filler) VALUES (?, ?)", number, [UInt8](repeating: 7, count: 3000))
  }

  private func other(_ name: String = "copy.db") throws -> SQLiteConnection {
    try SQLiteConnection(storeAt: folder.file(name), journal: .asFound)
  }

  private static func numbers(_ connection: SQLiteConnection) throws -> [Int] {
    try connection.all("SELECT number FROM kept ORDER BY number") { row in try row[0] as Int }
  }

  @Test("A copy is a snapshot of its start, and ends even if every step is followed by writes")
  func oneMoment() throws {
    let reader = try SQLiteConnection(storeAt: folder.file("source.db"), access: .readOnly, journal: .asFound)
    let copy = try other()
    var steps: [CopyProgress] = []
    try reader.copy(to: copy, stepPages: 4) { step in
      steps.append(step)
      try #require(steps.count < 1000)
      try Self.insert(1000 + steps.count, source)
    }
    #expect(steps.count > 5)
    #expect(try Self.numbers(copy) == Array(1...40))
    #expect(try Self.numbers(source) == Array(1...40) + (1...steps.count).map { 1000 + $0 })
    #expect(steps.map(\.copied) == steps.map(\.copied).sorted())
    #expect(steps.last?.copied == steps.last?.pages)
    #expect(steps.first?.copiedBytes == 4 * 4096)
  }

  @Test("A stopped copy leaves nothing, and does not block the source or its WAL")
  func givenUp() throws {
    let copy = try other()
    #expect(throws: GivenUp.self) { try source.copy(to: copy, stepPages: 1) { _ in throw GivenUp() } }
    #expect(try copy.first("SELECT count(*) FROM sqlite_schema") { row in try row[0] as Int } == 0)
    #expect(!source.isInTransaction)
    try Self.insert(41, source)
    try copy.execute("CREATE TABLE its_own (a INTEGER PRIMARY KEY) STRICT")
  }

  @Test("A locked destination is reported as an error of the destination, and the source is released")
  func lockedCopy() throws {
    let holder = try other()
    try holder.execute("BEGIN IMMEDIATE; CREATE TABLE its_own (a INTEGER PRIMARY KEY) STRICT")
    let copy = try SQLiteConnection(storeAt: folder.file("copy.db"), journal: .asFound, busyTimeout: .zero)
    let error = #expect(throws: SQLiteError.self) { try source.copy(to: copy) }
    #expect(error?.kind == .busy)
    #expect(error?.path == copy.path)
    #expect(!source.isInTransaction)
    try holder.execute("ROLLBACK")
    try source.copy(to: copy)
    #expect(try Self.numbers(copy) == Array(1...40))
  }

  @Test("A database cannot be copied into itself, and does not change")
  func itself() throws {
    #expect(throws: SQLiteError.self) { try source.copy(to: source) }
    #expect(try Self.numbers(source) == Array(1...40))
    try Self.insert(41, source)
  }

  @Test("A copy without WAL mode is a single file")
  func oneFile() throws {
    do {
      let copy = try other()
      try source.copy(to: copy)
      try copy.leaveWriteAheadLog()
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("copy") }
    #expect(names == ["copy.db"])
    // Bytes 18 and 19 of the file: 1 is a rollback journal, 2 is WAL.
    #expect(Array(try folder.contents(of: "copy.db")[18...19]) == [1, 1])
    #expect(try Self.numbers(other()) == Array(1...40))
  }

  @Test("An overwritten page is reported, in SQLite's words")
  func damage() throws {
    let copy = try other()
    try source.copy(to: copy)
    try copy.leaveWriteAheadLog()
    #expect(try copy.damage(thoroughly: false) == [])
    #expect(try copy.damage(thoroughly: true) == [])
    var bytes = try folder.contents(of: "copy.db")
    for place in 5 * 4096..<6 * 4096 { bytes[place] = 0xFF }
    try folder.write(bytes, to: "damaged.db")
    let damaged = try other("damaged.db")
    #expect(try damaged.damage(thoroughly: false).isEmpty == false)
    #expect(try damaged.damage(thoroughly: true).isEmpty == false)
  }

  @Test("The thorough check finds an index without a row")
  func index() throws {
    try source.execute("CREATE TABLE i (a INTEGER, b INTEGER) STRICT; CREATE INDEX by_b ON i (b)")
    try source.run("INSERT INTO i VALUES (1, 2)")
    let copy = try other()
    try source.copy(to: copy)
    try copy.leaveWriteAheadLog()
    // The last two pages are the index and the table. The index becomes empty.
    let root = try copy.first("SELECT rootpage FROM sqlite_schema WHERE name = 'by_b'") { row in try row[0] as Int }
    let start = (try #require(root) - 1) * 4096
    var bytes = try folder.contents(of: "copy.db")
    bytes.replaceSubrange(start + 3...start + 6, with: [0, 0, 0x10, 0])
    try folder.write(bytes, to: "indexless.db")
    #expect(try other("indexless.db").damage(thoroughly: true).contains { $0.contains("by_b") })
  }

  @Test("A row without its parent is reported with its table")
  func references() throws {
    try source.execute(
      """
      CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT;
      CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER NOT NULL REFERENCES parent (id)) STRICT;
      INSERT INTO parent VALUES (1); INSERT INTO child VALUES (7, 1);
      """
    )
    #expect(try source.missingReferences() == [])
    try source.execute("PRAGMA foreign_keys = OFF; DELETE FROM parent")
    #expect(try source.missingReferences() == [MissingReference(table: "child", row: 7, parent: "parent")])
  }
}
