import Foundation
import LockstepSQLite
import LockstepSQLiteStore
import LockstepTestSupport
import Testing
import LockstepThreading

@Suite("The reader pool", .timeLimit(.minutes(10)))
struct ReadersTests {
  private struct Refused: Error, Equatable {}

  private let fixture: WriterFixture

  init() throws {
    fixture = try WriterFixture()
  }

  private func readers(threads: Int = 2, capacity: Int = 4_096) throws -> ReaderPool {
    try ReaderPool(path: fixture.path, threads: threads, capacity: capacity)
  }

  private static func count(_ connection: SQLiteConnection) throws -> Int {
    try connection.first("SELECT count(*) FROM kept") { row in try row[0] as Int } ?? -1
  }

  @Test("Committed data is read, on threads with the pool's name")
  func reading() async throws {
    let readers = try readers()
    defer { readers.shutDown() }
    #expect(try await readers.read(Self.count) == 0)
    try await fixture.writer.write { try $0.keep(1) }
    #expect(try await readers.read(Self.count) == 1)
    let name = try await readers.read { _ in try String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8) }
    #expect(["reader-1\n", "reader-2\n"].contains(name))
  }

  @Test("A read sees one snapshot during writes, and the next read sees the writes")
  func snapshot() async throws {
    let readers = try readers(threads: 1)
    defer { readers.shutDown() }
    let gate = Gate()
    async let counts = readers.read { connection in
      let before = try Self.count(connection)
      gate.pass()
      return [before, try Self.count(connection)]
    }
    await gate.arrival()
    try await fixture.writer.write { try $0.keep(1) }
    gate.open()
    #expect(try await counts == [0, 0])
    #expect(try await readers.read(Self.count) == 1)
  }

  @Test("A read cannot write, its caller gets the error, and the thread continues")
  func errors() async throws {
    let readers = try readers(threads: 1)
    defer { readers.shutDown() }
    let error = await #expect(throws: SQLiteError.self) {
      try await readers.read { connection in try connection.keep(1) }
    }
    #expect(error?.kind == .readOnly)
    await #expect(throws: Refused()) { try await readers.read { _ in throw Refused() } }
    #expect(try await readers.read(Self.count) == 0)
  }

  @Test("A missing file is an error for its read, and the next read tries again")
  func missing() async throws {
    let path = fixture.folder.file("other.db")
    let readers = try ReaderPool(path: path, threads: 1)
    defer { readers.shutDown() }
    let error = await #expect(throws: SQLiteError.self) { try await readers.read { _ in } }
    #expect(error?.kind == .cannotOpen)
    try WriterFixture.writer(path: path).shutDown()
    #expect(try await readers.read(Self.count) == 0)
  }

  @Test("Failed reads are reported once, and once when they succeed; a body's own error is not reported")
  func trouble() async throws {
    let path = fixture.folder.file("other.db")
    let readers = try ReaderPool(path: path, threads: 1)
    defer { readers.shutDown() }
    let told = Log<String>()
    readers.onHealthChange(monotonic: { 0 }) { trouble in
      switch trouble {
      case .began(let work, let error), .lasts(let work, let error):
        told.add("\(work) \((error as? SQLiteError)?.kind == .cannotOpen)")
      case .ended(let work): told.add("\(work) again")
      }
    }
    for _ in 1...3 { await #expect(throws: SQLiteError.self) { try await readers.read { _ in } } }
    #expect(told.all == ["read true"])
    try WriterFixture.writer(path: path).shutDown()
    await #expect(throws: Refused()) { try await readers.read { _ in throw Refused() } }
    #expect(told.all == ["read true"])
    for _ in 1...3 { #expect(try await readers.read(Self.count) == 0) }
    #expect(told.all == ["read true", "read again"])
  }

  @Test("A full queue throws at once")
  func overload() async throws {
    let readers = try readers(threads: 1, capacity: 1)
    defer { readers.shutDown() }
    let gate = Gate()
    let refused = LockedState(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await readers.read { _ in gate.pass() } }
      await gate.arrival()
      // The first of these two waits in the queue, and the other is rejected.
      for _ in 1...2 {
        group.addTask {
          do {
            try await readers.read { _ in }
          } catch let error as PoolOverloadedError {
            #expect(error == PoolOverloadedError(pool: "reader", capacity: 1))
            #expect(readers.waiting == 1)
            refused.withLock { $0 += 1 }
            gate.open()
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(refused.withLock { $0 } == 1)
  }

  @Test("Shutting down closes all connections and rejects later reads")
  func shutDown() async throws {
    let readers = try readers(threads: 3)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 1...50 { group.addTask { _ = try await readers.read(Self.count) } }
      try await group.waitForAll()
    }
    readers.shutDown()
    await #expect(throws: PoolShutDownError(pool: "reader")) { try await readers.read { _ in } }
    readers.shutDown()
    fixture.writer.shutDown()
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["t.db"])
  }

  @Test("Readers beside a writer see whole transactions only")
  func wholeTransactions() async throws {
    let readers = try readers(threads: 3)
    defer { readers.shutDown() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask { [fixture] in
          try await fixture.writer.write { connection in
            try connection.keep(number * 2)
            try connection.keep(number * 2 + 1)
          }
        }
        group.addTask {
          let counts = try await readers.read { connection in [try Self.count(connection), try Self.count(connection)] }
          #expect(counts[0] == counts[1])
          #expect(counts[0] % 2 == 0)
        }
      }
      try await group.waitForAll()
    }
  }
}
