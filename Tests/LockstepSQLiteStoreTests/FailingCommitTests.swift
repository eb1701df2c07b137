import CLockstepSQLite
import Glibc
import LockstepSQLite
import LockstepTestSupport
import Testing
import LockstepThreading

@testable import LockstepSQLiteStore

@Suite("Groups that fail as a whole", .timeLimit(.minutes(10)))
struct FailingCommitTests {
  private typealias Refused = WriterFixture.Refused

  /// SQLite calls this before each commit, and rolls back if the result is not 0.
  private static func refuseCommits(_ connection: SQLiteConnection) {
    sqlite3_commit_hook(connection.database.pointer, { _ in 1 }, nil)
  }

  private static func allowCommits(_ connection: SQLiteConnection) {
    sqlite3_commit_hook(connection.database.pointer, nil, nil)
  }

  @Test(
    "A failed commit fails all its units, even those that failed alone; then the writer continues"
  )
  func commit() async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    let outcomes = Log<String>()
    try await fixture.hold(gate)
    for number in 1...3 {
      try fixture.submit(outcomes) { connection in
        try connection.keep(number)
        if number == 1 { Self.refuseCommits(connection) }
        if number == 2 { throw Refused() }
      }
    }
    gate.open()
    await eventually { outcomes.all.count == 3 }
    #expect(outcomes.all == ["constraint", "constraint", "constraint"])
    #expect(try fixture.numbers == [])
    #expect(fixture.writer.statistics.failedCommits == 1)
    #expect(fixture.writer.statistics.failedUnits == 4)
    // Only the writer thread can remove the hook, so a unit removes it. The transaction of that
    // unit may then be committed.
    try await fixture.writer.write { connection in
      Self.allowCommits(connection)
      try connection.keep(4)
    }
    #expect(try fixture.numbers == [4])
  }

  @Test(
    "A failure is reported when it begins, if it lasts and when it ends, and another at the earliest after ten seconds"
  )
  func trouble() async throws {
    let time = LockedState<Int64>(0)
    let fixture = try WriterFixture(monotonic: { time.withLock { $0 } })
    let told = Log<String>()
    fixture.writer.onHealthChange { trouble in
      switch trouble {
      case .began(let work, let error): told.add("\(work) \((error as? SQLiteError)?.kind == .constraint)")
      case .lasts(let work, _): told.add("\(work) lasts")
      case .ended(let work): told.add("\(work) again")
      }
    }
    func fail() async {
      await #expect(throws: SQLiteError.self) {
        try await fixture.writer.write { connection in
          Self.refuseCommits(connection)
          try connection.keep(1)
        }
      }
    }
    func succeed(_ number: Int) async throws {
      try await fixture.writer.write { connection in
        Self.allowCommits(connection)
        try connection.keep(number)
      }
    }
    // A unit that fails alone is not a health change.
    await #expect(throws: Refused()) { try await fixture.writer.write { _ in throw Refused() } }
    try await succeed(10)
    #expect(told.all == [])
    await fail()
    await fail()
    #expect(told.all == ["commit true"])
    try await succeed(11)
    try await succeed(12)
    #expect(told.all == ["commit true", "commit again"])
    time.withLock { $0 = 9_999_999_999 }
    await fail()
    try await succeed(13)
    #expect(told.all == ["commit true", "commit again"])
    time.withLock { $0 = 10_000_000_000 }
    await fail()
    time.withLock { $0 = 29_999_999_999 }
    await fail()
    #expect(told.all == ["commit true", "commit again", "commit true"])
    time.withLock { $0 = 30_000_000_000 }
    await fail()
    await fail()
    try await succeed(14)
    #expect(told.all == ["commit true", "commit again", "commit true", "commit lasts", "commit again"])
  }

  @Test(
    "On a full disk, a short WAL is checkpointed too, at most once a second",
    arguments: [true, false]
  )
  func roomInLog(alone: Bool) async throws {
    let time = LockedState<Int64>(0)
    let fixture = try WriterFixture(monotonic: { time.withLock { $0 } })
    let outcomes = Log<String>()
    func fill() async throws {
      let before = outcomes.all.count
      let gate = Gate()
      try await fixture.hold(gate)
      let count = alone ? 1 : 2
      for number in 1...count {
        try fixture.submit(outcomes) { connection in
          if number == count { try connection.execute("PRAGMA max_page_count = 4") }
          try connection.keep(number, filler: number == count ? 100_000 : 1)
        }
      }
      gate.open()
      await eventually { outcomes.all.count == before + count }
      #expect(outcomes.all.last == "full")
      // The statistics are known when the writer runs the next unit.
      try await fixture.writer.write { try $0.execute("PRAGMA max_page_count = 1000000; DELETE FROM kept") }
    }
    func checkpoints() -> Int { Int(fixture.writer.statistics.checkpointTime.count) }
    #expect(checkpoints() == 0)
    try await fill()
    #expect(checkpoints() == 1)
    time.withLock { $0 = 999_999_999 }
    try await fill()
    #expect(checkpoints() == 1)
    time.withLock { $0 = 1_000_000_000 }
    try await fill()
    #expect(checkpoints() == 2)
  }

  @Test("A full disk is a health change, even if only one unit fails")
  func fullDisk() async throws {
    let fixture = try WriterFixture()
    let told = Log<String>()
    fixture.writer.onHealthChange { trouble in
      switch trouble {
      case .began(_, let error), .lasts(_, let error): told.add("\((error as? SQLiteError)?.kind == .full)")
      case .ended: told.add("again")
      }
    }
    await #expect(throws: SQLiteError.self) {
      try await fixture.writer.write { connection in
        try connection.execute("PRAGMA max_page_count = 4")
        try connection.keep(1, filler: 100_000)
      }
    }
    #expect(told.all == ["true"])
    try await fixture.writer.write { connection in
      try connection.execute("PRAGMA max_page_count = 1000000")
      try connection.keep(1, filler: 100_000)
    }
    #expect(told.all == ["true", "again"])
  }

  @Test(
    "If SQLite rolls a transaction back, its units fail, and the others run in the next one",
    arguments: [true, false]
  )
  func undone(passesOver: Bool) async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    let outcomes = Log<String>()
    let runs = Log<Int>()
    try await fixture.hold(gate)
    for number in 1...4 {
      try fixture.submit(outcomes) { connection in
        runs.add(number)
        try connection.keep(number)
        if number != 2 { return }
        // SQLite does this itself when a disk fails.
        try connection.execute("ROLLBACK")
        if !passesOver { throw Refused() }
        // Outside of a transaction, this write could not be rolled back.
        try? connection.keep(22)
      }
    }
    gate.open()
    fixture.writer.shutDown()
    #expect(outcomes.all == ["rolledBack", "rolledBack", "written", "written"])
    #expect(try fixture.numbers == [3, 4])
    #expect(runs.all == [1, 2, 3, 4], "each unit ran once")
    #expect(fixture.writer.statistics.failedCommits == 1)
  }

  @Test("Another connection's lock fails all waiting units at once; then the writer continues")
  func locked() async throws {
    let fixture = try WriterFixture(busyTimeout: .zero)
    let gate = Gate()
    let outcomes = Log<String>()
    let other = try SQLiteConnection(storeAt: fixture.path, busyTimeout: .zero)
    try await fixture.holdBetweenGroups(gate)
    try other.execute("BEGIN IMMEDIATE")
    for number in 1...3 { try fixture.submit(outcomes) { try $0.keep(number) } }
    gate.open()
    await eventually { outcomes.all.count == 3 }
    #expect(outcomes.all == ["busy", "busy", "busy"])
    #expect(fixture.writer.statistics.failedCommits == 1, "the group waits for the lock once")
    try other.execute("COMMIT")
    try await fixture.writer.write { try $0.keep(4) }
    #expect(try fixture.numbers == [4])
  }

  @Test("A full database fails units that do not fit, keeps no half units, and continues when there is room")
  func full() async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    let outcomes = Log<String>()
    try await fixture.writer.write { try $0.execute("PRAGMA max_page_count = 20") }
    try await fixture.hold(gate)
    for number in 1...6 {
      try fixture.submit(outcomes) { connection in
        try connection.keep(number * 10)
        try connection.keep(number * 10 + 1, filler: number == 3 ? 1_000_000 : 10)
      }
    }
    gate.open()
    await eventually { outcomes.all.count == 6 }
    #expect(outcomes.all[2] == "full")
    let written = zip(1...6, outcomes.all).filter { $0.1 == "written" }.map { $0.0 }
    #expect(Set(written).isSuperset(of: [4, 5, 6]))
    #expect(try fixture.numbers == written.flatMap { [$0 * 10, $0 * 10 + 1] })
    try await fixture.writer.write { connection in
      try connection.execute("PRAGMA max_page_count = 1000")
      try connection.keep(70, filler: 1_000_000)
    }
    #expect(try fixture.numbers.last == 70)
  }

  @Test("A full disk fails the whole group, and a restart finds nothing of it")
  func disk() async throws {
    let folder = try TemporaryDirectory()
    let path = folder.file("t.db")
    // The limit on the size of files applies to a process, so this needs its own.
    await #expect(processExitsWith: .success) { [path = path as String] in
      signal(SIGXFSZ, SIG_IGN)
      let writer = try WriterFixture.writer(path: path)
      try await writer.write { try $0.keep(1) }
      let limit = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      var size = rlimit()
      getrlimit(limit, &size)
      let unlimited = size.rlim_cur
      // The WAL has a few pages; these units are far larger.
      size.rlim_cur = 100_000
      setrlimit(limit, &size)
      let gate = Gate()
      let outcomes = Log<String>()
      try writer.submit({ _ in gate.pass() }, completion: { _ in })
      await gate.arrival()
      for number in 2...9 {
        try writer.submit(
          { try $0.keep(number, filler: 50_000) },
          completion: { outcomes.add(WriterFixture.word(for: $0)) }
        )
      }
      gate.open()
      await eventually { outcomes.all.count == 8 }
      let failed = outcomes.all == Array(repeating: "inputOutput", count: 8)
      let isEmpty = try WriterFixture.numbers(in: path) == [1]
      size.rlim_cur = unlimited
      setrlimit(limit, &size)
      try await writer.write { try $0.keep(10) }
      exit(failed && isEmpty ? 0 : 1)
    }
    #expect(try WriterFixture.numbers(in: path) == [1, 10])
  }
}
