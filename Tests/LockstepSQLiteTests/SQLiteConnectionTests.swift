import Foundation
import LockstepSQLite
import Testing
import LockstepTestSupport

@Suite("Connections", .timeLimit(.minutes(10)))
struct ConnectionTests {
  private let folder: TemporaryDirectory
  private let path: String

  init() throws {
    folder = try TemporaryDirectory()
    path = folder.file("store.db")
  }

  private func integer(_ connection: SQLiteConnection, _ sql: StaticString) throws -> Int? {
    try connection.first(sql) { row in try row[0] as Int }
  }

  @Test("SQLite confirms the guarantees of a connection")
  func settings() throws {
    let connection = try SQLiteConnection(path: path)
    #expect(try connection.first("PRAGMA journal_mode") { row in try row[0] as String } == "wal")
    #expect(try integer(connection, "PRAGMA synchronous") == 2)
    #expect(try integer(connection, "PRAGMA foreign_keys") == 1)
    #expect(try integer(connection, "PRAGMA trusted_schema") == 0)
    #expect(try integer(connection, "PRAGMA cell_size_check") == 1)
    #expect(try integer(connection, "PRAGMA busy_timeout") == 5000)
  }

  @Test("The busy timeout is set", arguments: [(0, 0), (250, 250), (-5, 0), (Int.max, Int(Int32.max))])
  func busyTimeout(milliseconds: Int, expected: Int) throws {
    let connection = try SQLiteConnection(path: path, busyTimeout: .milliseconds(milliseconds))
    #expect(try integer(connection, "PRAGMA busy_timeout") == expected)
  }

  @Test("Only the owner can read a new file and its WAL")
  func permissions() throws {
    let connection = try SQLiteConnection(path: path)
    try connection.execute("CREATE TABLE one (number INTEGER) STRICT")
    for file in [path, path + "-wal", path + "-shm"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: file)
      #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
    }
  }

  @Test("The permissions of an existing file do not change")
  func existingPermissions() throws {
    #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o640]))
    _ = try SQLiteConnection(path: path)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
  }

  @Test("A path is always that of a file, even if SQLite gives the name a special meaning")
  func specialNames() throws {
    // `/./file:…` begins with a slash; the folder is what a relative path would be resolved
    // against.
    let special = folder.file("file:x?mode=memory")
    try SQLiteConnection(path: special).execute("CREATE TABLE one (number INTEGER) STRICT")
    #expect(FileManager.default.fileExists(atPath: special))
    let error = #expect(throws: SQLiteError.self) { try SQLiteConnection(path: "a\0b") }
    #expect(error?.message == "the path contains a NUL character")
  }

  @Test("A database in memory is empty, stores data, and is not a file")
  func inMemory() throws {
    let connection = try SQLiteConnection.inMemory()
    #expect(try integer(connection, "SELECT count(*) FROM sqlite_schema") == 0)
    try connection.execute("CREATE TABLE one (number INTEGER) STRICT; INSERT INTO one VALUES (1)")
    #expect(try integer(connection, "SELECT number FROM one") == 1)
    #expect(connection.resolvedPath == "")
    #expect(try integer(SQLiteConnection.inMemory(), "SELECT count(*) FROM sqlite_schema") == 0)
  }

  @Test("A read-only connection cannot recover from a killed writer, and the error has advice")
  func hotJournal() throws {
    let writer = try SQLiteConnection(path: path, journal: .asFound)
    try writer.execute(
      "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; CREATE TABLE one (text TEXT) STRICT; BEGIN IMMEDIATE"
    )
    for _ in 0..<20 { try writer.run("INSERT INTO one VALUES (?)", String(repeating: "x", count: 4_000)) }
    // The files as a killed writer would leave them.
    for suffix in ["", "-journal"] {
      try folder.write(try folder.contents(of: "store.db\(suffix)"), to: "killed\(suffix)")
    }
    let error = #expect(throws: SQLiteError.self) {
      try SQLiteConnection(path: self.folder.file("killed"), access: .readOnly, journal: .asFound)
    }
    #expect(error?.kind == .readOnly)
    #expect(error?.description.contains("Start the server once") == true, "\(String(describing: error))")
    #expect(try integer(SQLiteConnection(path: folder.file("killed")), "SELECT count(*) FROM one") == 0)
    withExtendedLifetime(writer) {}
  }

  @Test("A read-only connection cannot write, and does not create a file")
  func readOnly() throws {
    let missing = #expect(throws: SQLiteError.self) {
      try SQLiteConnection(path: self.path, access: .readOnly)
    }
    #expect(missing?.kind == .cannotOpen)
    #expect(!FileManager.default.fileExists(atPath: path))

    let writer = try SQLiteConnection(path: path)
    try writer.execute("CREATE TABLE one (number INTEGER) STRICT; INSERT INTO one VALUES (1)")
    let reader = try SQLiteConnection(path: path, access: .readOnly)
    #expect(try integer(reader, "SELECT number FROM one") == 1)
    let error = #expect(throws: SQLiteError.self) { try reader.run("INSERT INTO one VALUES (?)", 2) }
    #expect(error?.kind == .readOnly)
    #expect(
      error?.description
        == "SQLite could not run \"INSERT INTO one VALUES (?)\" on \(path): "
        + "attempt to write a readonly database (code 8). The database can be read but not written: check the "
        + "permissions of the file and its folder, and whether the disk is mounted read-only."
    )
    // Readers see only committed data.
    try writer.transaction {
      try writer.run("INSERT INTO one VALUES (2)")
      #expect(try integer(reader, "SELECT count(*) FROM one") == 1)
    }
    #expect(try integer(reader, "SELECT count(*) FROM one") == 2)
  }

  @Test("A file opened as found does not change until it is switched to WAL")
  func asFound() throws {
    try folder.write(try Self.rollbackDatabase(), to: "store.db")
    let before = try folder.contents(of: "store.db")
    let connection = try SQLiteConnection(path: path, journal: .asFound)
    #expect(try connection.first("PRAGMA journal_mode") { row in try row[0] as String } == "delete")
    #expect(try folder.contents(of: "store.db") == before)
    try connection.useWriteAheadLog()
    #expect(try connection.first("PRAGMA journal_mode") { row in try row[0] as String } == "wal")
  }

  /// The bytes of a database with a rollback journal.
  private static func rollbackDatabase() throws -> [UInt8] {
    let folder = try TemporaryDirectory()
    let connection = try SQLiteConnection(path: folder.file("x.db"), journal: .asFound)
    try connection.execute("CREATE TABLE one (number INTEGER) STRICT")
    return try folder.contents(of: "x.db")
  }

  @Test("Foreign keys are enforced, with a constraint error")
  func foreignKeys() throws {
    let connection = try SQLiteConnection(path: path)
    try connection.execute(
      """
      CREATE TABLE parents (id INTEGER PRIMARY KEY) STRICT;
      CREATE TABLE children (parent INTEGER NOT NULL REFERENCES parents (id)) STRICT;
      """
    )
    let error = #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO children VALUES (1)") }
    #expect(error?.kind == .constraint)
    #expect(error?.extendedCode == 787)
  }
}
