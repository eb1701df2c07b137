import Foundation
import LockstepSQLite
import LockstepSQLiteStore
import LockstepTestSupport
import Testing
import LockstepThreading

@Suite("The writer", .timeLimit(.minutes(10)))
struct WriterTests {
  private typealias Refused = WriterFixture.Refused

  // MARK: Units

  @Test("The caller gets the unit's value, and another connection sees its changes")
  func value() async throws {
    let fixture = try WriterFixture()
    let value = try await fixture.writer.write { connection in
      try connection.keep(1)
      return "done"
    }
    #expect(value == "done")
    #expect(try fixture.numbers == [1])
  }

  @Test("Units that wait while a unit runs share its transaction, in order")
  func group() async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    let counts = Log<Int?>()
    try await fixture.hold(gate)
    for number in 1...5 {
      try fixture.writer.submit(
        { connection in
          try connection.keep(number)
          return try connection.first("SELECT count(*) FROM kept") { row in try row[0] as Int }
        },
        completion: { counts.add(try? $0.get()) }
      )
    }
    gate.open()
    fixture.writer.shutDown()
    #expect(counts.all == [1, 2, 3, 4, 5])
    #expect(fixture.writer.statistics.commits == 1)
    #expect(fixture.writer.statistics.largestGroup == 6)
  }

  @Test("Completion handlers run after the commit, when all connections see the changes")
  func durableBeforeVisible() async throws {
    let fixture = try WriterFixture()
    let (before, after) = (Gate(), Gate())
    let seen = Log<[Int]?>()
    let path = fixture.path
    try await fixture.hold(before)
    try fixture.writer.submit({ try $0.keep(1) }, completion: { _ in seen.add(try? WriterFixture.numbers(in: path)) })
    try fixture.writer.submit({ _ in after.pass() }, completion: { _ in })
    before.open()
    await after.arrival()
    // The unit has run, and its transaction is open.
    #expect(seen.all == [])
    #expect(try fixture.numbers == [])
    after.open()
    fixture.writer.shutDown()
    #expect(seen.all == [[1]])
  }

  @Test("Completion handlers run in the order of submission, also for failed units")
  func order() async throws {
    let fixture = try WriterFixture(options: .init(groupLimit: 7))
    let gate = Gate()
    let settled = Log<String>()
    try await fixture.hold(gate)
    for number in 1...100 {
      try fixture.writer.submit(
        { (connection: SQLiteConnection) -> Void in
          try connection.keep(number)
          if number % 3 == 0 { throw Refused() }
        },
        completion: { settled.add("\(number) \(WriterFixture.word(for: $0))") }
      )
    }
    gate.open()
    fixture.writer.shutDown()
    let expected = (1...100).map { "\($0) \($0 % 3 == 0 ? "refused" : "written")" }
    #expect(settled.all == expected)
    #expect(try fixture.numbers == (1...100).filter { $0 % 3 != 0 })
  }

  @Test("A transaction has no more units than the limit")
  func limit() async throws {
    let fixture = try WriterFixture(options: .init(groupLimit: 4))
    let gate = Gate()
    try await fixture.hold(gate)
    for number in 1...10 { try fixture.writer.submit({ try $0.keep(number) }, completion: { _ in }) }
    gate.open()
    fixture.writer.shutDown()
    let statistics = fixture.writer.statistics
    #expect(statistics.units == 11)
    #expect(statistics.commits == 3)
    #expect(statistics.largestGroup == 4)
    #expect(Array(statistics.groupSize.counts.prefix(3)) == [0, 0, 3])
  }

  @Test("Concurrent writes of many tasks are all committed")
  func concurrency() async throws {
    let fixture = try WriterFixture()
    let values = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 1...1_000 {
        group.addTask {
          try await fixture.writer.write { connection in
            try connection.keep(number)
            return number
          }
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(values == Set(1...1_000))
    #expect(try fixture.numbers == Array(1...1_000))
    #expect(fixture.writer.statistics.units == 1_000)
  }

  @Test("A unit is committed even if its task is cancelled")
  func cancellation() async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        try? await fixture.writer.write { connection in
          gate.pass()
          try connection.keep(1)
        }
      }
      await gate.arrival()
      group.cancelAll()
      gate.open()
    }
    #expect(try fixture.numbers == [1])
  }

  // MARK: Failing alone

  @Test("A unit that throws fails alone, and its changes are rolled back", arguments: [1, 2, 3])
  func alone(failing: Int) async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    let outcomes = Log<String>()
    // The first waits at the gate before it writes; the others follow in its transaction.
    for number in 1...3 {
      try fixture.submit(outcomes) { connection in
        if number == 1 { gate.pass() }
        try connection.keep(number)
        if number == failing { throw Refused() }
      }
    }
    await gate.arrival()
    gate.open()
    fixture.writer.shutDown()
    let expected = (1...3).map { $0 == failing ? "refused" : "written" }
    #expect(outcomes.all == expected)
    #expect(try fixture.numbers == [1, 2, 3].filter { $0 != failing })
    #expect(fixture.writer.statistics.units == 2)
    #expect(fixture.writer.statistics.failedUnits == 1)
  }

  @Test("A unit whose SQL fails gets SQLite's error, and its changes are rolled back", arguments: [true, false])
  func constraint(isFirst: Bool) async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    let outcomes = Log<String>()
    try await fixture.writer.write { try $0.keep(1) }
    if !isFirst { try await fixture.hold(gate) }
    try fixture.submit(outcomes) { connection in
      try connection.keep(2)
      try connection.keep(1)
    }
    gate.open()
    fixture.writer.shutDown()
    #expect(outcomes.all == ["constraint"])
    #expect(try fixture.numbers == [1])
  }

  @Test(
    "A violated deferred foreign key fails only its unit",
    arguments: [true, false]
  )
  func deferredForeignKey(isFirst: Bool) async throws {
    let fixture = try WriterFixture()
    try await fixture.writer.write { connection in
      try connection.execute(
        "CREATE TABLE later (number INTEGER REFERENCES kept (number) DEFERRABLE INITIALLY DEFERRED) STRICT"
      )
    }
    let gate = Gate()
    let outcomes = Log<String>()
    if !isFirst { try await fixture.hold(gate) }
    for number in [1, 2, 3] {
      try fixture.submit(outcomes) { connection in
        try connection.run("INSERT INTO later VALUES (?)", number)
        if number != 1 { try connection.keep(number) }
      }
    }
    gate.open()
    fixture.writer.shutDown()
    #expect(outcomes.all == ["constraint", "written", "written"])
    #expect(try fixture.numbers == [2, 3])
  }

  @Test(
    "A unit that throws before it writes, as it promised, fails alone; a unit that breaks this promise fails its group",
    arguments: [false, true]
  )
  func unwritten(breaksItsPromise: Bool) async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    let outcomes = Log<String>()
    try await fixture.writer.write { try $0.keep(1) }
    try await fixture.hold(gate)
    for number in 2...5 {
      try fixture.writer.submit(
        { (connection: SQLiteConnection) -> Void in
          if number == 3, !breaksItsPromise { throw Refused() }
          // The first statement of the fourth unit fails and changes nothing.
          try connection.keep(number == 4 ? 1 : number)
          if number == 3 { throw Refused() }
        },
        throwsUnwritten: true,
        completion: { outcomes.add(WriterFixture.word(for: $0)) }
      )
    }
    gate.open()
    fixture.writer.shutDown()
    // The units after the one that broke its promise run in the next group.
    let expected =
      breaksItsPromise ? ["other", "other", "constraint", "written"] : ["written", "refused", "constraint", "written"]
    #expect(outcomes.all == expected)
    #expect(try fixture.numbers == (breaksItsPromise ? [1, 5] : [1, 2, 5]))
  }

  // MARK: The queue

  @Test("A full queue throws at once, and accepts units when there is room again")
  func overload() async throws {
    let fixture = try WriterFixture(options: .init(capacity: 2))
    let gate = Gate()
    try await fixture.hold(gate)
    for number in 1...2 { try fixture.writer.submit({ try $0.keep(number) }, completion: { _ in }) }
    #expect(fixture.writer.statistics.waiting == 2)
    #expect(throws: PoolOverloadedError(pool: "writer", capacity: 2)) {
      try fixture.writer.submit(
        { try $0.keep(3) },
        completion: { _ in Issue.record("a refused unit must not complete") }
      )
    }
    await #expect(throws: PoolOverloadedError(pool: "writer", capacity: 2)) {
      try await fixture.writer.write { try $0.keep(4) }
    }
    gate.open()
    await eventually { fixture.writer.statistics.waiting == 0 }
    try await fixture.writer.write { try $0.keep(5) }
    #expect(try fixture.numbers == [1, 2, 5])
  }

  @Test("Shutting down finishes accepted units, rejects later ones, and closes the connection")
  func shutDown() async throws {
    let fixture = try WriterFixture()
    let gate = Gate()
    let settled = Log<Int>()
    try await fixture.hold(gate)
    for number in 1...5 { try fixture.writer.submit({ try $0.keep(number) }, completion: { _ in settled.add(number) }) }
    gate.open()
    fixture.writer.shutDown()
    #expect(settled.all == [1, 2, 3, 4, 5])
    #expect(throws: PoolShutDownError(pool: "writer")) {
      try fixture.writer.submit(
        { try $0.keep(6) },
        completion: { _ in Issue.record("a refused unit must not complete") }
      )
    }
    await #expect(throws: PoolShutDownError(pool: "writer")) { try await fixture.writer.write { _ in } }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["t.db"],
      "closing the last connection checkpoints the WAL"
    )
    fixture.writer.shutDown()
    #expect(try fixture.numbers == [1, 2, 3, 4, 5])
  }

  @Test("A released writer finishes the units it accepted")
  func dropped() async throws {
    let folder = try TemporaryDirectory()
    let gate = Gate()
    weak var gone: DatabaseWriter?
    let value = try await withCheckedThrowingContinuation { continuation in
      do {
        let writer = try WriterFixture.writer(path: folder.file("t.db"))
        gone = writer
        let unit = { @Sendable (connection: SQLiteConnection) in
          gate.pass()
          return 1
        }
        try writer.submit(unit, completion: { continuation.resume(with: $0) })
      } catch {
        continuation.resume(throwing: error)
      }
      gate.open()
    }
    #expect(value == 1)
    #expect(gone == nil)
  }
}
