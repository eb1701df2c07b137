import CLockstepSQLite
import LockstepSQLite
import LockstepThreading

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// SQLite's file access. It also fills the gap of each page with zeros before the page is written to
/// a database file: see `PageGap`.
///
/// With a WAL, only checkpoints write to the database file. So after a complete checkpoint, the gaps
/// contain no copies of deleted rows, unless the file has `PageGap.pageLimit` pages or more. The WAL
/// and the page cache may still contain such copies.
enum ClearingFileSystem {
  /// The name to open a database with. SQLite knows it when this is first read. If registering it
  /// failed, no database can be opened.
  static let name: String = {
    // Has no effect after SQLite has a file system.
    _ = SQLiteLibrary.isSetUp
    let name = "lockstep"
    register(name)
    return name
  }()

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

  private static func register(_ name: String) {
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
  /// Opens the file of a store: like `init(path:access:journal:busyTimeout:)`, but what this
  /// connection writes to the file leaves no copies of deleted rows there.
  package convenience init(
    storeAt path: String,
    access: Access = .readWriteCreate,
    journal: Journal = .writeAheadLog,
    busyTimeout: Duration = .seconds(5)
  ) throws(SQLiteError) {
    try self.init(
      path: path,
      access: access,
      journal: journal,
      busyTimeout: busyTimeout,
      fileSystem: ClearingFileSystem.name
    )
  }
}
