import Foundation
import Glibc
import LockstepSQLiteStore
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepMaintenance
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("A backup of a store", .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly), .timeLimit(.minutes(10)))
struct StoreBackupTests {
  private struct GivenUp: Error {}

  private let files: StoreFixture
  private let store: DurableStore

  init() throws {
    files = try StoreFixture()
    store = try files.store()
  }

  private func backup(
    of path: String? = nil,
    rate: Int? = nil,
    pause: @escaping @Sendable (Duration) throws -> Void = { _ in }
  ) -> StoreBackup {
    StoreBackup(
      of: path ?? files.path,
      throttle: CopyThrottle(bytesPerSecond: rate, elapsed: files.clock.time.elapsed, pause: pause)
    )
  }

  private func names(_ prefix: String = "b.db") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: files.folder.path).filter { $0.hasPrefix(prefix) }.sorted()
  }

  @Test("A backup is one intact file, readable by its owner only, with the same id, and the store stays in use")
  func whole() async throws {
    try backup().write(to: files.folder.file("b.db"))
    #expect(try names() == ["b.db"])
    let attributes = try FileManager.default.attributesOfItem(atPath: files.folder.file("b.db"))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    let copy = try files.sqlite(files.folder.file("b.db"))
    #expect(try copy.damage(thoroughly: true) == [])
    #expect(try copy.first("SELECT id FROM store") { row in try row[0] as String } == store.id)
    try await store.checkWritable()
    store.close()
  }

  @Test("An existing file is replaced only if the caller says so")
  func exists() throws {
    let path = files.folder.file("b.db")
    try files.folder.write([1, 2, 3], to: "b.db")
    #expect(throws: MaintenanceError.exists(path: path)) { try backup().write(to: path) }
    #expect(try files.folder.contents(of: "b.db") == [1, 2, 3])
    try backup().write(to: path, overwriting: true)
    #expect(try files.sqlite(path).damage(thoroughly: false) == [])
    store.close()
  }

  @Test(
    "Devices, folders, links and pipes are never replaced",
    arguments: ["device", "folder", "link", "pipe"]
  )
  func noFile(kind: String) throws {
    defer { store.close() }
    let path = kind == "device" ? "/dev/null" : files.folder.file("b.db")
    switch kind {
    case "folder": #expect(mkdir(path, 0o700) == 0)
    case "link": #expect(symlink("/dev/null", path) == 0)
    case "pipe": #expect(mkfifo(path, 0o600) == 0)
    default: break
    }
    #expect(throws: MaintenanceError.notAFile(path: path)) { try backup().write(to: path, overwriting: true) }
    #expect(StorePath.isTaken(path) && !StorePath.isFileItself(path))
  }

  @Test("A file that another user has prepared as the partial file gets no data", arguments: [true, false])
  func prepared(isLinked: Bool) throws {
    let path = files.folder.file("b.db")
    try files.folder.write([1, 2, 3], to: "victim")
    let victim = files.folder.file("victim")
    let owner: uid_t = geteuid() == 0 ? 65_534 : geteuid()
    #expect(chown(victim, owner, .max) == 0 && chmod(victim, 0o666) == 0)
    #expect(isLinked ? link(victim, path + ".partial") == 0 : rename(victim, path + ".partial") == 0)
    // The other user holds the file open.
    let descriptor = open(path + ".partial", O_RDWR | O_CLOEXEC)
    defer { close(descriptor) }
    try backup().write(to: path)
    var (made, held) = (stat(), stat())
    #expect(stat(path, &made) == 0 && fstat(descriptor, &held) == 0)
    #expect(made.st_uid == geteuid() && made.st_mode & 0o777 == 0o600)
    #expect(held.st_ino != made.st_ino && held.st_size == 3)
    store.close()
  }

  @Test(
    "A partial file that is not a regular file stays, and the backup is refused",
    arguments: ["folder", "link", "pipe"]
  )
  func preparedOther(kind: String) throws {
    defer { store.close() }
    let path = files.folder.file("b.db.partial")
    switch kind {
    case "folder": #expect(mkdir(path, 0o700) == 0)
    case "link": #expect(symlink(files.path, path) == 0)
    default: #expect(mkfifo(path, 0o600) == 0)
    }
    #expect(throws: MaintenanceError.notAFile(path: path)) { try backup().write(to: files.folder.file("b.db")) }
    #expect(try names() == ["b.db.partial"])
  }

  @Test("An aborted backup leaves the existing file and nothing else")
  func givenUp() throws {
    try files.folder.write([1, 2, 3], to: "b.db")
    let backup = backup { _ in throw GivenUp() }
    #expect(throws: GivenUp.self) { try backup.write(to: files.folder.file("b.db"), overwriting: true) }
    #expect(try names() == ["b.db"])
    #expect(try files.folder.contents(of: "b.db") == [1, 2, 3])
    store.close()
  }

  @Test("The files of a backup that was killed do not disturb the next one, and are deleted")
  func leftBehind() throws {
    try files.folder.write([9], to: "b.db.partial")
    try files.folder.write([9], to: "b.db.partial-wal")
    try backup().write(to: files.folder.file("b.db"))
    #expect(try names() == ["b.db"])
    store.close()
  }

  @Test("Two backups cannot write the same file at the same time")
  func twice() throws {
    let path = files.folder.file("b.db")
    let first = try PartialFile(target: path)
    #expect(throws: MaintenanceError.beingMade(path: path)) { try backup().write(to: path) }
    withExtendedLifetime(first) {}
    store.close()
  }

  @Test(
    "A foreign store, a missing store and the store itself as target are refused, and nothing is made",
    arguments: ["none", "other", "itself"]
  )
  func refused(kind: String) throws {
    defer { store.close() }
    switch kind {
    case "none":
      let path = files.folder.file("none.db")
      #expect(throws: MaintenanceError.missing(path: path)) {
        try backup(of: path).write(to: files.folder.file("b.db"))
      }
    case "other":
      let path = files.folder.file("other.db")
      try files.sqlite(path).execute("CREATE TABLE t (a INTEGER)")
      #expect(throws: StoreError.notAStore(path: path)) { try backup(of: path).write(to: files.folder.file("b.db")) }
    default:
      #expect(throws: MaintenanceError.sameFile(path: files.path)) {
        try backup().write(to: files.folder.path + "/./lockstep.db", overwriting: true)
      }
    }
    #expect(try names() == [])
  }

  @Test("A backup with a rate takes as long as the rate requires")
  func rate() throws {
    let clock = files.clock
    let start = clock.time.elapsed()
    let bytes = try backup(rate: 10_000) { clock.advance(by: $0) }.write(to: files.folder.file("b.db"))
    let seconds = (clock.time.elapsed() - start) / .seconds(1)
    #expect(abs(seconds - Double(bytes) / 10_000) < 0.001)
    store.close()
  }

  @Test("A damaged store gives no backup")
  func damaged() throws {
    store.close()
    var bytes = try files.folder.contents(of: "lockstep.db")
    for place in bytes.count - 4096..<bytes.count { bytes[place] = 0xFF }
    try files.folder.write(bytes, to: "damaged.db")
    let path = files.folder.file("damaged.db")
    let error = #expect(throws: MaintenanceError.self) { try backup(of: path).write(to: files.folder.file("b.db")) }
    #expect(error?.isDamage(of: path) == true, "\(String(describing: error))")
    #expect(try names() == [])
  }
}

extension MaintenanceError {
  /// Whether SQLite reports this file as damaged, in any of its ways.
  func isDamage(of path: String) -> Bool {
    if case .damaged(path, _) = self { true } else { false }
  }
}
