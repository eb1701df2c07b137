import CLockstepSQLite
import LockstepSQLite

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension SQLiteConnection {
  /// Clears the gaps of all pages of the database file: see `PageGap`. A file needs this once if a
  /// program without `ClearingFileSystem` has written to it. Returns false, and does nothing, if
  /// another connection prevents it.
  ///
  /// Others may read meanwhile, because nothing reads a gap. If the process ends meanwhile, the file
  /// stays valid.
  package func clearGaps() throws(SQLiteError) -> Bool {
    try changeFile { file throws(SQLiteError) in
      for number in stride(from: 1, through: file.pageCount, by: 1) {
        try file.read(number)
        guard PageGap.hasLeftovers(UnsafeRawBufferPointer(file.page), isFirst: number == 1) else { continue }
        // `ClearingFileSystem` clears the gap.
        try file.write(number)
      }
    }
  }

  /// Overwrites the free pages of the database file with zeros: see `eraseFreePages()`. Returns
  /// false, and does nothing, if another connection prevents it.
  ///
  /// Others may read meanwhile, because nothing reads the contents of free pages. If the process ends
  /// meanwhile, the file stays valid.
  func clearFreePages() throws(SQLiteError) -> Bool {
    try changeFile { file throws(SQLiteError) in
      // The first page contains the number of the first trunk page. A trunk page contains the number
      // of the next one, and a list of free pages.
      try file.read(1)
      var trunk = file.number(at: 32)
      // A damaged list could be a circle.
      var trunksLeft = file.pageCount
      while trunk > 1, trunk <= file.pageCount, trunksLeft > 0 {
        try file.read(trunk)
        let next = file.number(at: 0)
        let count = min(file.number(at: 4), file.page.count / 4 - 2)
        let listed = (0..<count).map { file.number(at: 8 + 4 * $0) }
        try file.clear(trunk, from: 8 + 4 * count)
        for number in listed where number > 1 && number <= file.pageCount {
          try file.read(number)
          try file.clear(number, from: 0)
        }
        (trunk, trunksLeft) = (next, trunksLeft - 1)
      }
    }
  }

  /// Removes all pages from this connection's cache, so that their gaps are not written again. Call
  /// this outside a transaction.
  func forgetPages() {
    sqlite3_db_release_memory(database.pointer)
  }

  /// Moves the WAL into the database file, and passes the file to `body` while nothing else writes to
  /// it. Then syncs the file. Returns false, and does nothing, if another connection prevents it.
  private func changeFile(
    _ body: (borrowing OpenedFile) throws(SQLiteError) -> Void
  ) throws(SQLiteError) -> Bool {
    guard try truncateWAL() else { return false }
    // Other connections cannot write in this transaction. While the WAL is empty, no checkpoint
    // writes to the file either.
    try begin()
    defer {
      rollBack()
      forgetPages()
    }
    var status = stat()
    guard stat(resolvedPath + "-wal", &status) != 0 || status.st_size == 0 else { return false }
    let file = try OpenedFile(of: self)
    try body(file)
    try file.sync()
    return true
  }
}

/// The database file of a connection, and a buffer for one page. Pages are numbered from 1.
private struct OpenedFile: ~Copyable {
  let page: UnsafeMutableRawBufferPointer
  let pageCount: Int
  private let path: String
  private let file: UnsafeMutablePointer<sqlite3_file>
  private let methods: sqlite3_io_methods

  /// Uses SQLite's own descriptor. Closing another one would drop SQLite's locks on the file.
  init(of connection: SQLiteConnection) throws(SQLiteError) {
    let database = connection.database
    var opened: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(database.pointer, "main", SQLITE_FCNTL_FILE_POINTER, &opened) == SQLITE_OK,
      let opened, let methods = opened.pointee.pMethods?.pointee
    else { throw database.error(SQLITE_IOERR, "the database file is not open") }
    let pageSize = try connection.pageSize()
    var size: Int64 = 0
    let code = methods.xFileSize(opened, &size)
    guard code == SQLITE_OK else { throw Self.error(code, path: connection.path) }
    (path, file, self.methods, pageCount) = (connection.path, opened, methods, Int(size) / pageSize)
    page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 8)
  }

  deinit {
    page.deallocate()
  }

  /// Reads a page into the buffer.
  func read(_ number: Int) throws(SQLiteError) {
    try expectSuccess(methods.xRead(file, page.baseAddress, Int32(page.count), offset(of: number)))
  }

  /// Writes the buffer to a page.
  func write(_ number: Int) throws(SQLiteError) {
    try expectSuccess(methods.xWrite(file, page.baseAddress, Int32(page.count), offset(of: number)))
  }

  /// Overwrites the rest of the page in the buffer with zeros, and writes the page if this changed it.
  func clear(_ number: Int, from start: Int) throws(SQLiteError) {
    let rest = UnsafeMutableRawBufferPointer(rebasing: page[start...])
    guard rest.contains(where: { $0 != 0 }) else { return }
    rest.initializeMemory(as: UInt8.self, repeating: 0)
    try write(number)
  }

  func sync() throws(SQLiteError) { try expectSuccess(methods.xSync(file, SQLITE_SYNC_NORMAL)) }

  /// A number of four bytes in the buffer.
  func number(at offset: Int) -> Int {
    page[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  private func offset(of number: Int) -> Int64 { Int64(number - 1) * Int64(page.count) }

  private func expectSuccess(_ code: Int32) throws(SQLiteError) {
    if code != SQLITE_OK { throw Self.error(code, path: path) }
  }

  private static func error(_ code: Int32, path: String) -> SQLiteError {
    SQLiteError(extendedCode: code, message: resultText(code), path: path)
  }
}
