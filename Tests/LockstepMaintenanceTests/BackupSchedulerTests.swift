import Foundation
import LockstepHTTP
import LockstepSQLiteStore
import LockstepTestSupport
import LockstepThreading
import Synchronization
import Testing

@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepLogging
@testable import LockstepMaintenance
@testable import LockstepRoutes
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepTime

@Suite(
  "Scheduled backups of a server",
  .enabled(if: TestedStore.isSQLite, TestedStore.sqliteOnly),
  .timeLimit(.minutes(10))
)
struct BackupKeeperTests {
  private let files: StoreFixture
  private let store: DurableStore
  private let log = LogRecorder()
  private let folder: String

  init() throws {
    files = try StoreFixture()
    store = try files.store()
    folder = files.folder.file("backups")
  }

  private func keeper(
    keep: Int = 2,
    store path: String? = nil,
    folder other: String? = nil,
    identity: String? = nil,
    rate: Int? = nil
  ) throws -> BackupScheduler {
    let (log, now) = (log, files.clock.time.millisecondsSince1970)
    let logger = Logger(
      level: .info,
      format: .text,
      now: { Timestamp(millisecondsSince1970: now()) },
      write: { log.record($0) }
    )
    var schedule = BackupSchedule()
    schedule.folder = folder
    schedule.every = .seconds(3600)
    schedule.keep = keep
    schedule.bytesPerSecond = rate
    return try BackupScheduler(
      schedule,
      folder: other ?? folder,
      store: path ?? files.path,
      identity: identity ?? store.id,
      time: files.clock.time,
      logger: logger
    )
  }

  private func names() -> [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted() }

  /// The name of the store's backup at a time.
  private func name(_ time: String) -> String { "lockstep-\(store.id.prefix(8))-\(time).db" }

  @Test("A backup is complete and named by its time, and the oldest one is deleted afterwards")
  func rotation() async throws {
    let keeper = try keeper()
    for _ in 1...3 {
      #expect(await keeper.makeBackup())
      files.clock.advance(by: .seconds(3600))
    }
    keeper.shutDown()
    // The clock began at 1,000,000 milliseconds since 1970.
    #expect(names() == [name("19700101T011640Z"), name("19700101T021640Z")])
    for name in names() {
      let copy = try files.sqlite("\(folder)/\(name)")
      #expect(try copy.damage(thoroughly: true) == [])
      #expect(try copy.first("SELECT id FROM store") { row in try row[0] as String } == store.id)
    }
    #expect(keeper.metrics.made == 3 && keeper.metrics.failures == 0)
    #expect(keeper.metrics.last == 8_200_000 && keeper.metrics.bytes > 4096)
    store.close()
  }

  @Test("Files with other names are not touched, and incomplete backups are deleted")
  func others() async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let kept = [
      "other-19700101T000000Z.db", "lockstep-19700101T000000Z.db", "lockstep-00000000-19700101T000000Z.db",
      name("19700101T000000Z") + ".gz", "lockstep-before-upgrade.db", name("19709999T000000Z"), "notes.txt",
    ]
    let half = name("19700101T000000Z") + ".partial"
    for name in kept + [half, half + "-wal"] {
      try files.folder.write([1], to: "backups/\(name)")
    }
    let keeper = try keeper(keep: 1)
    #expect(await keeper.makeBackup())
    keeper.shutDown()
    #expect(names() == (kept + [name("19700101T001640Z")]).sorted())
    store.close()
  }

  @Test("Two stores with the same file name can keep backups in one folder")
  func shared() async throws {
    let (first, second) = (try keeper(keep: 1), try keeper(keep: 1, identity: String(repeating: "f", count: 32)))
    #expect(await first.makeBackup())
    #expect(await second.makeBackup())
    #expect(names() == [name("19700101T001640Z"), "lockstep-ffffffff-19700101T001640Z.db"].sorted())
    #expect(
      try keeper(identity: String(repeating: "e", count: 32)).metrics.last == nil,
      "backups of other stores do not count"
    )
    for keeper in [first, second] { keeper.shutDown() }
    store.close()
  }

  @Test("A backup with a time in the future is deleted first, and the new one stays")
  func future() async throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for year in [2098, 2099] { try files.folder.write([1], to: "backups/\(name("\(year)0101T000000Z"))") }
    let keeper = try keeper(keep: 2)
    #expect(await keeper.makeBackup())
    #expect(names() == [name("19700101T001640Z"), name("20990101T000000Z")])
    files.clock.advance(by: .seconds(3600))
    #expect(await keeper.makeBackup())
    #expect(names() == [name("19700101T001640Z"), name("19700101T011640Z")])
    keeper.shutDown()
    store.close()
  }

  @Test("A failed backup is logged and counted, leaves no file, and no older backup is deleted")
  func failure() async throws {
    let first = try keeper(keep: 1)
    #expect(await first.makeBackup())
    first.shutDown()
    let before = names()
    files.clock.advance(by: .seconds(3600))
    let broken = try keeper(keep: 1, store: files.folder.file("none/lockstep.db"))
    #expect(await !broken.makeBackup())
    broken.shutDown()
    #expect(names() == before)
    #expect(broken.metrics.failures == 1 && broken.metrics.made == 0)
    #expect(broken.metrics.last == 1_000_000, "the existing backup counts")
    #expect(log.text.contains("ERROR backup failed"))
    store.close()
  }

  @Test("If the folder cannot be created, the server continues and tries again later")
  func folder() async throws {
    try files.folder.write([], to: "backups")
    let keeper = try keeper()
    #expect(await !keeper.makeBackup())
    try FileManager.default.removeItem(atPath: folder)
    #expect(await keeper.makeBackup())
    keeper.shutDown()
    #expect(keeper.metrics.failures == 1 && keeper.metrics.made == 1)
    store.close()
  }

  @Test("A server that stops aborts a backup, however slow it is")
  func stopping() async throws {
    let keeper = try keeper(rate: 1)
    async let made = keeper.makeBackup()
    let (folder, suffix) = (folder, PartialFile.suffix)
    await eventually {
      ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).contains { $0.hasSuffix(suffix) }
    }
    await aside { keeper.shutDown() }
    #expect(await !made)
    #expect(names() == [])
    #expect(keeper.metrics.failures == 0, "an aborted backup is not a failure")
    store.close()
  }

  @Test("The first backup is made at once, the next one on time, and after a failure it is retried soon")
  func schedule() async throws {
    let (clock, keeper) = (SteppedClock(), try keeper(keep: 9))
    let task = Task { await keeper.run(by: clock) }
    #expect(await clock.nextSleep() == .seconds(3600))
    #expect(keeper.metrics.made == 1)
    files.clock.advance(by: .seconds(3600))
    clock.wake()
    #expect(await clock.nextSleep() == .seconds(3600))
    #expect(keeper.metrics.made == 2)
    // A file has replaced the folder.
    try FileManager.default.removeItem(atPath: folder)
    try files.folder.write([], to: "backups")
    clock.wake()
    #expect(await clock.nextSleep() == .seconds(300))
    #expect(keeper.metrics.failures == 1)
    task.cancel()
    clock.wake()
    await task.value
    keeper.shutDown()
    store.close()
  }

  @Test("After a restart, the next backup is made when it was due")
  func restart() async throws {
    let first = try keeper()
    #expect(await first.makeBackup())
    first.shutDown()
    files.clock.advance(by: .seconds(600))
    let (clock, second) = (SteppedClock(), try keeper())
    #expect(second.metrics.last == 1_000_000)
    let task = Task { await second.run(by: clock) }
    #expect(await clock.nextSleep() == .seconds(3000))
    #expect(second.metrics.made == 0)
    task.cancel()
    clock.wake()
    await task.value
    second.shutDown()
    store.close()
  }

  @Test("The metrics have the time of the last backup and the number of failures")
  func metrics() async throws {
    try await ServerFixture.run({ $0.backups.folder = folder }) { users in
      await eventually { users.running.withLock { $0?.backups?.metrics.made } == 1 }
      #expect(names().count == 1 && names()[0].hasPrefix("lockstep-") && names()[0].hasSuffix("-19941106T084937Z.db"))
      let text = try await users.ask("GET", "/metrics").text
      #expect(text.contains("\nlockstep_backups_total 1\n"))
      #expect(text.contains("\nlockstep_backup_last_success_timestamp_seconds 784111777\n"))
      #expect(text.contains("\nlockstep_backup_failures_total 0\n"))
    }
    store.close()
  }
}
