import CLockstepSQLite
import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepSQLiteStore

@Suite("The gaps of pages", .timeLimit(.minutes(10)))
struct PageGapTests {
  private static let owners = 40
  private static let erasedOwners = Array(stride(from: 0, to: owners, by: 4))
  private static let table = """
    CREATE TABLE notes (
      place INTEGER NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (place, number)
    ) STRICT, WITHOUT ROWID
    """

  /// A text that is part of all notes of this owner.
  private static func mark(of owner: Int) -> String { "<owner-\(owner)>" }

  /// Statements that write notes of all owners in turns, so that SQLite moves many rows to other
  /// pages.
  private static func writes(_ count: Int, _ random: inout SeededNumbers) -> [String] {
    (0..<count).map { _ in
      let owner = random.below(owners)
      let text = mark(of: owner) + String(repeating: "-", count: random.below(300))
      return "INSERT OR REPLACE INTO notes VALUES (\(owner), \(random.below(50)), '\(text)')"
    }
  }

  private static func erasure(of owner: Int) -> String { "DELETE FROM notes WHERE place = \(owner)" }

  /// The owners whose texts are in one of the files.
  private static func found(_ owners: [Int], in folder: TemporaryDirectory, _ names: String...) throws -> [Int] {
    let texts = try names.map { String(decoding: try folder.contents(of: $0), as: UTF8.self) }
    return owners.filter { owner in texts.contains { $0.contains(mark(of: owner)) } }
  }

  @Test("After erasures, no text of the erased rows stays in the database, its WAL or a backup")
  func erasures() async throws {
    var random = SeededNumbers(seed: TestSeed.make(for: "PageGaps"))
    let fixture = try WriterFixture(options: .init(checkpointPages: 50))
    let folder = fixture.folder
    try await fixture.writer.write { try $0.execute(Self.table) }
    var erased: [Int] = []
    for owner in Self.erasedOwners {
      for statement in Self.writes(300, &random) { try await fixture.writer.write { try $0.execute(statement) } }
      erased.append(owner)
      let all = erased
      try await fixture.writer.write { connection in
        for owner in all { try connection.execute(Self.erasure(of: owner)) }
        connection.eraseWAL()
      }
      try await eventually { try folder.contents(of: "t.db-wal").isEmpty }
      #expect(try Self.found(erased, in: folder, "t.db").isEmpty)
      // Later writes to the same pages bring nothing back.
      try await fixture.writer.write { try $0.execute("UPDATE notes SET text = text || '.'") }
      #expect(try Self.found(erased, in: folder, "t.db", "t.db-wal").isEmpty)
    }
    let copy = try SQLiteConnection(storeAt: folder.file("copy.db"), journal: .asFound)
    try fixture.connection().copy(to: copy)
    #expect(try Self.found(erased, in: folder, "copy.db").isEmpty)
    #expect(try fixture.connection().damage(thoroughly: true).isEmpty)
  }

  /// Makes a file that SQLite has written without `ClearingFileSystem`. Returns the owners who are
  /// erased but whose texts are still in the file.
  private static func oldFile(in folder: TemporaryDirectory) throws -> [Int] {
    var random = SeededNumbers(seed: 1)
    var opened: OpaquePointer?
    #expect(sqlite3_open(folder.file("old.db"), &opened) == SQLITE_OK)
    defer { sqlite3_close(opened) }
    func run(_ statements: [String]) {
      for statement in statements { #expect(sqlite3_exec(opened, statement, nil, nil, nil) == SQLITE_OK) }
    }
    run(["PRAGMA journal_mode = WAL", "PRAGMA secure_delete = ON", "PRAGMA synchronous = OFF", table])
    for _ in 0..<20 {
      run(writes(300, &random))
      run(erasedOwners.map { erasure(of: $0) } + ["PRAGMA wal_checkpoint(TRUNCATE)"])
      let found = try found(erasedOwners, in: folder, "old.db")
      if !found.isEmpty { return found }
    }
    return []
  }

  @Test("The gaps of a file that another program wrote are cleared, unless a reader prevents it")
  func otherProgram() throws {
    let folder = try TemporaryDirectory()
    let erased = try Self.oldFile(in: folder)
    #expect(!erased.isEmpty)
    let connection = try SQLiteConnection(storeAt: folder.file("old.db"), busyTimeout: .zero)
    let rows = { try connection.all("SELECT place || '-' || number || text FROM notes") { try $0[0] as String } }
    let before = try rows()
    let reader = try SQLiteConnection(storeAt: folder.file("old.db"), access: .readOnly)
    try reader.execute("BEGIN; SELECT count(*) FROM notes")
    try connection.run("INSERT INTO notes VALUES (99, 1, '')")
    #expect(try !connection.clearGaps())
    #expect(try Self.found(erased, in: folder, "old.db") == erased)
    try reader.execute("COMMIT")
    try connection.run("DELETE FROM notes WHERE place = 99")
    #expect(try connection.clearGaps())
    #expect(try Self.found(erased, in: folder, "old.db", "old.db-wal").isEmpty)
    #expect(try rows() == before && before.count > 100)
    #expect(try connection.damage(thoroughly: true).isEmpty)
  }

  @Test("A page whose header contradicts itself, or that belongs to no b-tree, has no gap")
  func otherPages() {
    func gap(_ page: [UInt8], isFirst: Bool = false) -> Range<Int>? {
      (page + [UInt8](repeating: 1, count: 512 - page.count))
        .withUnsafeBytes { PageGap.range(in: $0, isFirst: isFirst) }
    }
    let positions: [UInt8] = [1, 0x90, 1, 0xA0, 1, 0xF0]
    // A leaf with three cells, the first of them at 400.
    #expect(gap([13, 0, 0, 0, 3, 1, 0x90, 0] + positions) == 14..<400)
    // An inner page.
    #expect(gap([5, 0, 0, 0, 3, 1, 0x90, 0, 0, 0, 0, 9] + positions) == 18..<400)
    #expect(gap([UInt8](repeating: 0, count: 100) + [10, 0, 0, 0, 0, 2, 0, 0], isFirst: true) == 108..<512)
    // A cell before the start of the cells, and one after the end of the page.
    #expect(gap([13, 0, 0, 0, 3, 1, 0xA0, 0] + positions) == nil)
    #expect(gap([13, 0, 0, 0, 1, 1, 0x90, 0, 2, 0]) == nil)
    // More cells than there is space in front of the first cell.
    #expect(gap([13, 0, 0, 1, 0, 1, 0x90, 0]) == nil)
    // The cells would begin after the end.
    #expect(gap([13, 0, 0, 0, 3, 2, 1, 0] + positions) == nil)
    #expect(gap([13, 0, 0, 0, 3, 0, 0, 0] + positions) == nil)
    // Part of a long row, and a page of the list of free pages.
    #expect(gap([0, 0, 0, 13, 0, 3, 1, 0x90]) == nil)
    #expect(gap([1, 0, 0, 13, 0, 3, 1, 0x90]) == nil)
  }

  @Test("A file with auto_vacuum is refused, because some of its pages look like b-trees")
  func autoVacuum() throws {
    let folder = try TemporaryDirectory()
    var opened: OpaquePointer?
    #expect(sqlite3_open(folder.file("t.db"), &opened) == SQLITE_OK)
    #expect(sqlite3_exec(opened, "PRAGMA auto_vacuum = FULL; CREATE TABLE t (x)", nil, nil, nil) == SQLITE_OK)
    sqlite3_close(opened)
    let before = try folder.contents(of: "t.db")
    for access in [SQLiteConnection.Access.readWriteCreate, .readOnly] {
      let error = #expect(throws: SQLiteError.self) {
        try SQLiteConnection(storeAt: folder.file("t.db"), access: access, journal: .asFound)
      }
      #expect(error?.description.contains("PRAGMA auto_vacuum = NONE; VACUUM") == true)
    }
    #expect(try folder.contents(of: "t.db") == before)
  }
}
