import CLockstepSQLite
import Glibc
import LockstepThreading

/// SQLite's file access. It also fills the gap of each page with zeros before the page is written to
/// a database file: see `PageGap`.
///
/// With a WAL, only checkpoints write to the database file. So after a complete checkpoint, the gaps
/// contain no copies of deleted rows, unless the file has `PageGap.pageLimit` pages or more. The WAL
/// and the page cache may still contain such copies.
enum ClearingFileSystem {
  /// The name to open a database with.
  static let name = "lockstep"

  /// SQLite's methods of a database file, and a copy with another `xWrite`. Files use both until
  /// the process ends, so the copy is never released.
  ///
  /// `@unchecked Sendable`: nothing changes the methods after `init`.
  private struct Methods: @unchecked Sendable {
    let system: UnsafePointer<sqlite3_io_methods>
    let own: UnsafePointer<sqlite3_io_methods>

    init(_ system: UnsafePointer<sqlite3_io_methods>) {
      let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
      copy.initialize(to: system.pointee)
      copy.pointee.xWrite = { file, bytes, count, offset in
        ClearingFileSystem.write(bytes, Int(count), to: file, at: offset)
      }
      (self.system, own) = (system, UnsafePointer(copy))
    }
  }

  /// Nil until the first file is opened.
  private static let methods = LockedState<Methods?>(nil)
  private static let pageSizes = [512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536]

  /// Makes the name known to SQLite. If that fails, no database can be opened.
  static func register() {
    guard let system = sqlite3_vfs_find(nil) else { return }
    // SQLite uses this memory until the process ends, so it is never released.
    let own = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    own.initialize(to: system.pointee)
    own.pointee.zName = UnsafePointer(strdup(name))
    own.pointee.xOpen = { _, path, file, flags, flagsSet in
      guard let file, let system = sqlite3_vfs_find(nil) else { return SQLITE_CANTOPEN }
      let code = system.pointee.xOpen(system, path, file, flags, flagsSet)
      if code == SQLITE_OK, flags & SQLITE_OPEN_MAIN_DB != 0 { ClearingFileSystem.replaceMethods(of: file) }
      return code
    }
    sqlite3_vfs_register(own, 0)
  }

  private static func replaceMethods(of file: UnsafeMutablePointer<sqlite3_file>) {
    guard let system = file.pointee.pMethods else { return }
    let methods = methods.withLock { methods in
      if methods == nil { methods = Methods(system) }
      return methods
    }
    // SQLite has other methods for files without locks, which are never opened here.
    if let methods, methods.system == system { file.pointee.pMethods = methods.own }
  }

  private static func write(
    _ bytes: UnsafeRawPointer?,
    _ count: Int,
    to file: UnsafeMutablePointer<sqlite3_file>?,
    at offset: Int64
  ) -> Int32 {
    guard let system = methods.withLock({ $0?.system.pointee }) else { return SQLITE_IOERR }
    let page = UnsafeRawBufferPointer(start: bytes, count: count)
    var size: Int64 = 0
    // SQLite always writes whole pages. Any other write stays as it is.
    guard pageSizes.contains(count), offset % Int64(count) == 0, PageGap.hasLeftovers(page, isFirst: offset == 0),
      system.xFileSize(file, &size) == SQLITE_OK, size / Int64(count) < PageGap.pageLimit
    else { return system.xWrite(file, bytes, Int32(count), offset) }
    // The page may belong to SQLite's cache, so the copy is cleared.
    return withUnsafeTemporaryAllocation(byteCount: count, alignment: 8) { copy in
      copy.copyMemory(from: page)
      PageGap.clear(copy, isFirst: offset == 0)
      return system.xWrite(file, copy.baseAddress, Int32(count), offset)
    }
  }
}

extension SQLiteConnection {
  /// Clears the gaps of all pages of the database file: see `PageGap`. A file needs this once if a
  /// program without `ClearingFileSystem` has written to it. Returns false, and does nothing, if
  /// another connection prevents it.
  ///
  /// Others may read meanwhile, because nothing reads a gap. If the process ends meanwhile, the file
  /// stays valid.
  package func clearGaps() throws(SQLiteError) -> Bool {
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
    try clearGapsOfFile()
    return true
  }

  private func clearGapsOfFile() throws(SQLiteError) {
    var opened: UnsafeMutablePointer<sqlite3_file>?
    // Uses SQLite's own descriptor. Closing another one would drop SQLite's locks on the file.
    guard sqlite3_file_control(database.pointer, "main", SQLITE_FCNTL_FILE_POINTER, &opened) == SQLITE_OK,
      let opened, let methods = opened.pointee.pMethods?.pointee
    else { throw database.error(SQLITE_IOERR, "the database file is not open") }
    func expectSuccess(_ code: Int32) throws(SQLiteError) {
      guard code == SQLITE_OK else {
        throw SQLiteError(extendedCode: code, message: resultText(code), path: path)
      }
    }
    let pageSize = try pageSize()
    var size: Int64 = 0
    try expectSuccess(methods.xFileSize(opened, &size))
    let page = UnsafeMutableRawBufferPointer.allocate(byteCount: pageSize, alignment: 8)
    defer { page.deallocate() }
    for number in 0..<size / Int64(pageSize) {
      let offset = number * Int64(pageSize)
      try expectSuccess(methods.xRead(opened, page.baseAddress, Int32(pageSize), offset))
      guard PageGap.hasLeftovers(UnsafeRawBufferPointer(page), isFirst: offset == 0) else { continue }
      try expectSuccess(methods.xWrite(opened, page.baseAddress, Int32(pageSize), offset))
    }
    try expectSuccess(methods.xSync(opened, SQLITE_SYNC_NORMAL))
  }

  /// Removes all pages from this connection's cache, so that their gaps are not written again. Call
  /// this outside a transaction.
  func forgetPages() {
    sqlite3_db_release_memory(database.pointer)
  }
}
