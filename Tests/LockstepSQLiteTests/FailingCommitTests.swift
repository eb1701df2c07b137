import CLockstepSQLite
import Glibc
import LockstepTestSupport
import Testing
import LockstepThreading

@testable import LockstepSQLite

@Suite("Transactions of the writer that fail as a whole")
struct FailingCommitTests {
  private typealias Refused = WriterFixture.Refused

  /// SQLite asks this before each commit, and undoes the transaction when the answer isn't 0.
  private static func refuseCommits(_ connection: SQLiteConnection) {
    sqlite3_commit_hook(connection.database.pointer, { _ in 1 }, nil)
  }

  private static func allowCommits(_ connection: SQLiteConnection) {
    sqlite3_commit_hook(connection.database.pointer, nil, nil)
  }

  @Test(
    "A commit that fails fails all its units, those too that had failed alone, and leaves nothing; then all goes on"
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
    // The hook is the connection's own, so that a unit takes it away; its own transaction may be committed then.
    try await fixture.writer.write { connection in
      Self.allowCommits(connection)
      try connection.keep(4)
    }
    #expect(try fixture.numbers == [4])
  }

  @Test("Trouble is told once when it begins and once when it's over, and not again for a while")
  func trouble() async throws {
    let time = LockedState<Int64>(0)
    let fixture = try WriterFixture(monotonic: { time.withLock { $0 } })
    let told = Log<String>()
    fixture.writer.onHealthChange { trouble in
      switch trouble {
      case .began(let work, let error): told.add("\(work) \((error as? SQLiteError)?.kind == .constraint)")
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
    // A unit that is refused alone is no trouble.
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
    try await succeed(14)
    #expect(told.all == ["commit true", "commit again", "commit true", "commit again"])
  }

  @Test(
    "A disk that is full has the log's contents moved into the file, however few, and not again within a second",
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
      // The figures are known when the writer has come to another unit.
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

  @Test("A disk that is full is trouble, though it's one unit that found it so")
  func fullDisk() async throws {
    let fixture = try WriterFixture()
    let told = Log<String>()
    fixture.writer.onHealthChange { trouble in
      switch trouble {
      case .began(_, let error): told.add("\((error as? SQLiteError)?.kind == .full)")
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
    "A transaction that SQLite undoes fails what ran in it, and what hadn't run yet goes into the next",
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
        // What SQLite does by itself when a disk fails.
        try connection.execute("ROLLBACK")
        if !passesOver { throw Refused() }
        // Nobody would undo this.
        try? connection.keep(22)
      }
    }
    gate.open()
    fixture.writer.shutDown()
    #expect(outcomes.all == ["rolledBack", "rolledBack", "written", "written"])
    #expect(try fixture.numbers == [3, 4])
    #expect(runs.all == [1, 2, 3, 4], "each ran once")
    #expect(fixture.writer.statistics.failedCommits == 1)
  }

  @Test("A lock that another holds fails all that waits, at once, and the writer goes on when it is gone")
  func locked() async throws {
    let fixture = try WriterFixture(busyTimeout: .zero)
    let gate = Gate()
    let outcomes = Log<String>()
    let other = try SQLiteConnection(path: fixture.path, options: .init(busyTimeout: .zero))
    // A writer that is held up by a settlement has no transaction open.
    try fixture.writer.submit({ _ in }, settled: { _ in gate.pass() })
    await gate.arrival()
    try other.execute("BEGIN IMMEDIATE")
    for number in 1...3 { try fixture.submit(outcomes) { try $0.keep(number) } }
    gate.open()
    await eventually { outcomes.all.count == 3 }
    #expect(outcomes.all == ["busy", "busy", "busy"])
    #expect(fixture.writer.statistics.failedCommits == 1, "the lock is waited for once")
    try other.execute("COMMIT")
    try await fixture.writer.write { try $0.keep(4) }
    #expect(try fixture.numbers == [4])
  }

  @Test("A database that is full fails what doesn't fit, half of nothing is kept, and all goes on when there is room")
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

  @Test("A disk that takes no more fails the whole group, and nothing of it is there after a restart")
  func disk() async throws {
    let folder = try TemporaryDirectory()
    let path = folder.file("t.db")
    // The limit on the size of files is a whole process's, so that this needs one of its own.
    await #expect(processExitsWith: .success) { [path = path as String] in
      signal(SIGXFSZ, SIG_IGN)
      let writer = try WriterFixture.writer(path: path)
      try await writer.write { try $0.keep(1) }
      let limit = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
      var size = rlimit()
      getrlimit(limit, &size)
      let unlimited = size.rlim_cur
      // The log holds a few pages; these units are far more.
      size.rlim_cur = 100_000
      setrlimit(limit, &size)
      let gate = Gate()
      let outcomes = Log<String>()
      try writer.submit({ _ in gate.pass() }, settled: { _ in })
      await gate.arrival()
      for number in 2...9 {
        try writer.submit(
          { try $0.keep(number, filler: 50_000) },
          settled: { outcomes.add(WriterFixture.word(for: $0)) }
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
