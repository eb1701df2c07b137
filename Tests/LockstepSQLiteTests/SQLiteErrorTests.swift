import LockstepSQLite
import Testing
import LockstepTestSupport

@Suite("Errors", .timeLimit(.minutes(10)))
struct SQLiteErrorTests {
  private let folder: TemporaryDirectory

  init() throws {
    folder = try TemporaryDirectory()
  }

  private func errorOpening(_ name: String) -> SQLiteError? {
    #expect(throws: SQLiteError.self) { try SQLiteConnection(path: self.folder.file(name)) }
  }

  @Test("A folder that does not exist")
  func missingFolder() {
    #expect(
      errorOpening("none/store.db")?.description
        == "SQLite could not open \(folder.file("none/store.db")): cannot create the file: No such file or directory "
        + "(code 14). Check that the folder exists, and that this process may read and write the file and its folder."
    )
  }

  @Test("A folder where a file is expected")
  func folderAsFile() {
    let error = #expect(throws: SQLiteError.self) { try SQLiteConnection(path: self.folder.path) }
    #expect(error?.kind == .cannotOpen)
  }

  @Test("A file that is not a database does not change")
  func garbage() throws {
    let bytes = [UInt8]("This is a shopping list. ".utf8) + [UInt8](repeating: 0x2A, count: 8192)
    try folder.write(bytes, to: "list.txt")
    #expect(
      errorOpening("list.txt")?.description
        == "SQLite could not open \(folder.file("list.txt")): file is not a database "
        + "(code 26). The file is not a SQLite database, or it is encrypted: name another file, or move this one "
        + "away."
    )
    #expect(try folder.contents(of: "list.txt") == bytes)
  }

  // SQLite treats files of 0 and 1 bytes as new.
  @Test(
    "A truncated database is an error, never a crash",
    arguments: [2, 15, 16, 99, 100, 511, 512, 4096, 9000]
  )
  func truncated(length: Int) throws {
    do {
      let connection = try SQLiteConnection(path: folder.file("whole.db"))
      try connection.execute(
        "CREATE TABLE kept (filler BLOB) STRICT; INSERT INTO kept VALUES (zeroblob(100000))"
      )
    }
    let whole = try folder.contents(of: "whole.db")
    try folder.write(Array(whole.prefix(length)), to: "cut.db")
    let kind = try #require(errorOpening("cut.db")?.kind)
    #expect([.corrupt, .notADatabase, .inputOutput].contains(kind), "\(kind)")
  }

  @Test(
    "Each code has its kind",
    arguments: [
      (5, .busy), (6, .busy), (5 | 2 << 8, .busy), (13, .full), (8, .readOnly), (11, .corrupt), (26, .notADatabase),
      (14, .cannotOpen), (10 | 4 << 8, .inputOutput), (19 | 8 << 8, .constraint), (4 | 2 << 8, .rolledBack),
      (4, .other), (20, .mismatch), (21, .misuse), (25, .misuse), (1, .other),
    ] as [(Int32, SQLiteError.Kind)]
  )
  func kinds(code: Int32, kind: SQLiteError.Kind) {
    let error = SQLiteError(extendedCode: code, message: "", path: "")
    #expect(error.kind == kind)
    #expect(error.code == code & 0xFF)
  }

  @Test("A damaged file and a failing disk have advice")
  func advice() {
    #expect(
      SQLiteError(extendedCode: 11, message: "database disk image is malformed", sql: "SELECT 1", path: "/x")
        .description
        == "SQLite could not run \"SELECT 1\" on /x: database disk image is malformed (code 11). The file is damaged: "
        + "restore it from a backup, or recover its data with the sqlite3 shell's \".recover\"."
    )
    #expect(
      SQLiteError(extendedCode: 266, message: "disk I/O error", sql: "COMMIT", path: "/x").description
        == "SQLite could not run \"COMMIT\" on /x: disk I/O error (code 266). The disk or its file system failed: "
        + "check the system's log before you use that disk again."
    )
  }

  @Test("A long statement is shown on one line and cut")
  func longStatement() {
    let error = SQLiteError(
      extendedCode: 1,
      message: "m",
      sql: "SELECT\n  1,  " + String(repeating: "2, ", count: 200),
      path: "/x"
    )
    #expect(error.description.hasPrefix("SQLite could not run \"SELECT 1, 2, 2,"))
    #expect(error.description.hasSuffix("2, 2…\" on /x: m (code 1)."))
  }
}
