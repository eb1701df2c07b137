import LockstepSQLite
import LockstepTestSupport
import Testing

@testable import LockstepSQLiteStore

@Suite("Text that the writer rolled back", .timeLimit(.minutes(10)))
struct WriterErasureTests {
  private static let text = String(repeating: "rolled back ", count: 400_000)

  /// How a unit fails after its first write.
  enum Failure: CaseIterable {
    case error
    /// `INSERT OR REPLACE` checks foreign keys after its writes.
    case foreignKey
    case brokenPromise
  }

  /// A writer whose file has over 1,000 free pages, which contain zeros.
  private func fixture() async throws -> WriterFixture {
    let fixture = try WriterFixture()
    try await fixture.writer.write { connection in
      try connection.execute(
        """
        PRAGMA secure_delete = ON;
        CREATE TABLE texts (number INTEGER PRIMARY KEY REFERENCES kept (number), text TEXT NOT NULL) STRICT
        """
      )
      for number in 1...50 { try connection.keep(number, filler: 100_000) }
    }
    try await fixture.writer.write { try $0.execute("DELETE FROM kept WHERE number <> 1") }
    return fixture
  }

  private func fail(_ failure: Failure, in connection: SQLiteConnection) throws {
    let number = failure == .foreignKey ? 999 : 1
    try connection.run("INSERT OR REPLACE INTO texts VALUES (?, ?)", number, Self.text)
    throw WriterFixture.Refused()
  }

  @Test(
    "If a unit fails after its first write, its text leaves the file and the WAL",
    arguments: Failure.allCases,
    [true, false]
  )
  func erased(failure: Failure, isFirst: Bool) async throws {
    let fixture = try await fixture()
    let (gate, outcomes) = (Gate(), Log<String>())
    if !isFirst { try await fixture.hold(gate) }
    try fixture.writer.submit({ try fail(failure, in: $0) }, throwsUnwritten: failure == .brokenPromise) { result in
      outcomes.add(WriterFixture.word(for: result))
    }
    try fixture.submit(outcomes) { try $0.keep(2) }
    gate.open()
    func found() throws -> [String] {
      try ["t.db", "t.db-wal"].filter {
        String(decoding: try fixture.folder.contents(of: $0), as: UTF8.self).contains("rolled back")
      }
    }
    try await eventually { try outcomes.all.count == 2 && found().isEmpty }
    let isForeignKey = failure == .foreignKey
    let isPromise = failure == .brokenPromise && !isFirst
    #expect(outcomes.all == [isForeignKey ? "constraint" : isPromise ? "other" : "refused", "written"])
    fixture.writer.shutDown()
    #expect(try !String(decoding: fixture.folder.contents(of: "t.db"), as: UTF8.self).contains("rolled back"))
    #expect(try fixture.numbers == [1, 2])
    let check = try fixture.connection().all("PRAGMA integrity_check") { row in try row[0] as String }
    #expect(check == ["ok"])
  }

  @Test("A unit that refuses before its first write erases nothing")
  func refused() async throws {
    let fixture = try await fixture()
    let (gate, outcomes) = (Gate(), Log<String>())
    try await fixture.hold(gate)
    try fixture.submit(outcomes) { _ in throw WriterFixture.Refused() }
    gate.open()
    try await fixture.writer.write { try $0.keep(2) }
    #expect(outcomes.all == ["refused"])
    #expect(try fixture.folder.contents(of: "t.db-wal").count > 0)
  }
}
