import LockstepSQLite
import LockstepTestSupport
import Testing
import LockstepThreading

@testable import LockstepSQLiteStore

@Suite("The writer's WAL", .timeLimit(.minutes(10)))
struct WriterLogTests {
  /// Lengthens the WAL by at least a page, several times.
  private func write(pages: Int, to fixture: WriterFixture) async throws {
    for _ in 0..<pages {
      try await fixture.writer.write { connection in _ = try connection.run("INSERT INTO kept VALUES (NULL, NULL)") }
    }
  }

  private func fixture(pages: Int, patience: Duration = .zero) throws -> WriterFixture {
    try WriterFixture(options: .init(checkpointPages: pages, checkpointTimeout: patience))
  }

  /// The number of pages in the WAL.
  private func log(of fixture: WriterFixture) -> Int { fixture.writer.statistics.logPages }

  /// The number of pages in the WAL after each transaction.
  private func lengths(of fixture: WriterFixture, writes: Int) async -> Result<[Int], any Error> {
    var lengths: [Int] = []
    do {
      for _ in 0..<writes {
        try await write(pages: 1, to: fixture)
        lengths.append(log(of: fixture))
      }
      return .success(lengths)
    } catch {
      return .failure(error)
    }
  }

  @Test("A checkpoint runs after a number of pages, and the WAL stays below it")
  func bounded() async throws {
    let fixture = try fixture(pages: 20)
    let longest = try #require(try await lengths(of: fixture, writes: 200).get().max())
    #expect(longest >= 20)
    #expect(longest < 30)
    let statistics = fixture.writer.statistics
    #expect(statistics.checkpointTime.count >= 5)
    #expect(statistics.failedCheckpoints == 0)
  }

  @Test("A long read makes the WAL grow; after it the WAL and its file are short again")
  func longReader() async throws {
    let fixture = try fixture(pages: 20)
    try await write(pages: 1, to: fixture)
    let reader = try SQLiteConnection(storeAt: fixture.path, access: .readOnly)
    let count = { try reader.first("SELECT count(*) FROM kept") { row in try row[0] as Int } }
    try reader.execute("BEGIN")
    #expect(try count() == 1)
    try await write(pages: 300, to: fixture)
    #expect(log(of: fixture) > 300)
    #expect(try count() == 1)
    try reader.execute("COMMIT")
    // The next checkpoint moves all of it, and the transaction after that resets it.
    try await write(pages: 30, to: fixture)
    #expect(log(of: fixture) < 30)
    #expect(try fixture.folder.contents(of: "t.db-wal").count < 45 * 4_200)
    #expect(fixture.writer.statistics.failedCheckpoints == 0)
  }

  @Test("The WAL is erased at once; if there is a reader, soon after it has ended, without another transaction")
  func erased() async throws {
    let fixture = try fixture(pages: 1_000)
    func erase() async throws { try await fixture.writer.write { $0.eraseWAL() } }
    func size() throws -> Int { try fixture.folder.contents(of: "t.db-wal").count }
    try await write(pages: 5, to: fixture)
    #expect(try size() > 0)
    try await erase()
    try await write(pages: 0, to: fixture)
    try await eventually { try size() == 0 }
    try await write(pages: 5, to: fixture)
    let reader = try SQLiteConnection(storeAt: fixture.path, access: .readOnly)
    try reader.execute("BEGIN; SELECT count(*) FROM kept")
    try await erase()
    try await write(pages: 1, to: fixture)
    #expect(try size() > 0)
    try reader.execute("COMMIT")
    try await eventually { try size() == 0 }
    #expect(fixture.writer.statistics.failedCheckpoints == 0)
  }

  @Test("Overlapping readers delay a checkpoint, but the WAL is reset in the end")
  func overlappingReaders() async throws {
    let fixture = try fixture(pages: 10, patience: .seconds(20))
    let path = fixture.path
    let isDone = LockedState(false)
    let reading = Gate()
    async let readers: Void = aside {
      // There is always a reader, because each one begins before the previous one ends.
      var last: SQLiteConnection?
      while !isDone.withLock({ $0 }) {
        guard let next = try? SQLiteConnection(storeAt: path, access: .readOnly) else { continue }
        try? next.execute("BEGIN; SELECT count(*) FROM kept")
        last = next
        reading.pass()
      }
      _ = last
    }
    reading.open()
    await reading.arrival()
    let lengths = await lengths(of: fixture, writes: 130)
    isDone.withLock { $0 = true }
    await readers
    let longest = try #require(try lengths.get().max())
    // The WAL may grow until a checkpoint waits for the readers.
    #expect(longest < 10 * (WALCheckpointer.tolerance + 3))
    #expect(fixture.writer.statistics.failedCheckpoints == 0)
  }
}
