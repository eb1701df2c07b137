import Foundation
import LockstepSQLite
import LockstepTestSupport
import Testing

@Suite("A copy of a database")
struct CopyTests {
  private struct GivenUp: Error {}

  private let folder: TemporaryDirectory
  private let source: SQLiteConnection

  init() throws {
    folder = try TemporaryDirectory()
    source = try SQLiteConnection(path: folder.file("source.db"))
    try source.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, filler BLOB) STRICT")
    try source.transaction { for number in 1...40 { try Self.insert(number, source) } }
  }

  private static func insert(_ number: Int, _ connection: SQLiteConnection) throws {
    try connection.run("INSERT INTO kept (number, filler) VALUES (?, ?)", number, [UInt8](repeating: 7, count: 3000))
  }

  private func other(_ name: String = "copy.db") throws -> SQLiteConnection {
    try SQLiteConnection(path: folder.file(name), options: .init(journal: .asFound))
  }

  private static func numbers(_ connection: SQLiteConnection) throws -> [Int] {
    try connection.all("SELECT number FROM kept ORDER BY number") { row in try row[0] as Int }
  }

  @Test("It's of the moment at which it began and comes to its end, however much is written between its steps")
  func oneMoment() throws {
    let reader = try SQLiteConnection(
      path: folder.file("source.db"),
      options: .init(access: .readOnly, journal: .asFound)
    )
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

  @Test("Who gives up leaves nothing in the copy, and the source free to be written and its log to be emptied")
  func givenUp() throws {
    let copy = try other()
    #expect(throws: GivenUp.self) { try source.copy(to: copy, stepPages: 1) { _ in throw GivenUp() } }
    #expect(try copy.first("SELECT count(*) FROM sqlite_schema") { row in try row[0] as Int } == 0)
    #expect(!source.isInTransaction)
    try Self.insert(41, source)
    try copy.execute("CREATE TABLE its_own (a INTEGER PRIMARY KEY) STRICT")
  }

  @Test("Where another has the copy locked, it's the copy that is told, and the source is let go of")
  func lockedCopy() throws {
    let holder = try other()
    try holder.execute("BEGIN IMMEDIATE; CREATE TABLE its_own (a INTEGER PRIMARY KEY) STRICT")
    let copy = try SQLiteConnection(path: folder.file("copy.db"), options: .init(journal: .asFound, busyTimeout: .zero))
    let error = #expect(throws: SQLiteError.self) { try source.copy(to: copy) }
    #expect(error?.kind == .busy)
    #expect(error?.path == copy.path)
    #expect(!source.isInTransaction)
    try holder.execute("ROLLBACK")
    try source.copy(to: copy)
    #expect(try Self.numbers(copy) == Array(1...40))
  }

  @Test("A database can't be copied into itself, and stays as it is")
  func itself() throws {
    #expect(throws: SQLiteError.self) { try source.copy(to: source) }
    #expect(try Self.numbers(source) == Array(1...40))
    try Self.insert(41, source)
  }

  @Test("A copy of a database with a log is one file once it has left it")
  func oneFile() throws {
    do {
      let copy = try other()
      try source.copy(to: copy)
      try copy.leaveWriteAheadLog()
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix("copy") }
    #expect(names == ["copy.db"])
    // Bytes 18 and 19 of the file say how it's to be written: 1 is without a log, 2 with one.
    #expect(Array(try folder.contents(of: "copy.db")[18...19]) == [1, 1])
    #expect(try Self.numbers(other()) == Array(1...40))
  }

  @Test("A page that was written over is told, in SQLite's words")
  func damage() throws {
    let copy = try other()
    try source.copy(to: copy)
    try copy.leaveWriteAheadLog()
    #expect(try copy.damage(.pages) == [])
    #expect(try copy.damage(.everything) == [])
    var bytes = try folder.contents(of: "copy.db")
    for place in 5 * 4096..<6 * 4096 { bytes[place] = 0xFF }
    try folder.write(bytes, to: "damaged.db")
    let damaged = try other("damaged.db")
    #expect(try damaged.damage(.pages).isEmpty == false)
    #expect(try damaged.damage(.everything).isEmpty == false)
  }

  @Test("An index that lacks a row is found by who looks at everything")
  func index() throws {
    try source.execute("CREATE TABLE i (a INTEGER, b INTEGER) STRICT; CREATE INDEX by_b ON i (b)")
    try source.run("INSERT INTO i VALUES (1, 2)")
    let copy = try other()
    try source.copy(to: copy)
    try copy.leaveWriteAheadLog()
    // The index's page and the table's are the last two; the index becomes one that holds nothing.
    let root = try copy.first("SELECT rootpage FROM sqlite_schema WHERE name = 'by_b'") { row in try row[0] as Int }
    let start = (try #require(root) - 1) * 4096
    var bytes = try folder.contents(of: "copy.db")
    bytes.replaceSubrange(start + 3...start + 6, with: [0, 0, 0x10, 0])
    try folder.write(bytes, to: "indexless.db")
    #expect(try other("indexless.db").damage(.everything).contains { $0.contains("by_b") })
  }

  @Test("A row whose parent is gone is told with its table")
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
