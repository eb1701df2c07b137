import LockstepSQLite
import Testing
import LockstepTestSupport
import LockstepThreading

/// Random groups of random units against a dictionary that has never heard of transactions.
@Suite("The writer and a model of it")
struct WriterModelTests {
  /// What a unit does.
  private enum Step: CaseIterable {
    case insert, update, delete
    /// Writes, and then throws.
    case fail
    /// Throws before it has written anything.
    case refuse
    /// Writes, loses a part of it to a savepoint of its own, and goes on.
    case retreat
    /// Breaks a constraint after it has written.
    case collide
    /// Does as SQLite does when a disk fails: the whole transaction is undone.
    case undoAll
  }

  private struct Unit {
    let step: Step
    let number: Int
    let filler: Int

    /// What it should do to a store of numbers and the sizes of their fillers. Throws where it should fail alone.
    func apply(to store: inout [Int: Int]) throws {
      switch step {
      case .insert, .retreat: store[number] = filler
      case .update: if store[number] != nil { store[number] = filler }
      case .delete: store[number] = nil
      case .fail, .refuse, .collide, .undoAll: throw WriterFixture.Refused()
      }
    }

    func run(_ connection: SQLiteConnection) throws {
      let put: StaticString =
        "INSERT INTO kept VALUES (?, zeroblob(?)) ON CONFLICT DO UPDATE SET filler = excluded.filler"
      switch step {
      case .insert:
        try connection.run(put, number, filler)
      case .update:
        try connection.run("UPDATE kept SET filler = zeroblob(?) WHERE number = ?", filler, number)
      case .delete:
        try connection.run("DELETE FROM kept WHERE number = ?", number)
      case .fail:
        try connection.run(put, number, filler)
        throw WriterFixture.Refused()
      case .refuse:
        throw WriterFixture.Refused()
      case .retreat:
        try connection.run(put, number, filler)
        try? connection.savepoint {
          try connection.run("DELETE FROM kept")
          throw WriterFixture.Refused()
        }
      case .collide:
        try connection.run(put, number, filler)
        try connection.keep(number)
      case .undoAll:
        try connection.run(put, number, filler)
        try connection.execute("ROLLBACK")
        throw WriterFixture.Refused()
      }
    }
  }

  /// What the writer should make of the units, when it takes so many of them into one transaction: which are written.
  private func predict(_ units: [Unit], groupLimit: Int, store: inout [Int: Int]) -> [Bool] {
    var outcomes: [Bool] = []
    // What is on disk, and how many of the units that ran since would be committed next.
    var saved = store
    var open = 0
    for unit in units {
      var after = store
      let isWritten = (try? unit.apply(to: &after)) != nil
      outcomes.append(isWritten)
      if isWritten { store = after }
      // One that fails and is alone in its transaction takes nothing with it.
      if !isWritten, open == 0 { continue }
      open += 1
      if unit.step == .undoAll {
        for index in outcomes.indices.suffix(open) { outcomes[index] = false }
        store = saved
      }
      if unit.step == .undoAll || open == groupLimit {
        saved = store
        open = 0
      }
    }
    return outcomes
  }

  @Test("Whatever units do, what is written and what is told is as the model says", arguments: 1...6)
  func model(round: Int) async throws {
    let seed = TestSeed.make(for: "Writer")
    var random = SeededNumbers(seed: seed)
    let groupLimit = Int.random(in: 2...12, using: &random)
    let fixture = try WriterFixture(options: .init(groupLimit: groupLimit, checkpointPages: 30))
    var store: [Int: Int] = [:]
    for _ in 1...40 {
      let units = (0..<Int.random(in: 1...20, using: &random)).map { _ in
        // Whole transactions are undone now and then, not all the time.
        let step = Step.allCases.randomElement(using: &random) ?? .insert
        return Unit(
          step: step == .undoAll && Int.random(in: 0..<3, using: &random) > 0 ? .update : step,
          number: Int.random(in: 0..<30, using: &random),
          filler: Int.random(in: 0..<3_000, using: &random)
        )
      }
      let outcomes = Log<Bool>()
      let gate = Gate()
      // A writer that is held up by a settlement has no transaction open: what waits makes up groups of its own.
      try fixture.writer.submit({ _ in }, settled: { _ in gate.pass() })
      await gate.arrival()
      for unit in units {
        try fixture.writer.submit(
          { connection in try unit.run(connection) },
          settled: { (result: Result<Void, any Error>) in outcomes.add(WriterFixture.word(for: result) == "written") }
        )
      }
      gate.open()
      await eventually { outcomes.all.count == units.count }
      let expected = predict(units, groupLimit: groupLimit, store: &store)
      try #require(outcomes.all == expected, "seed \(seed), group limit \(groupLimit)")
      let found = try fixture.connection().all("SELECT number, length(filler) FROM kept") { row in
        (try row[0] as Int, try row[1] as Int)
      }
      try #require(Dictionary(uniqueKeysWithValues: found) == store, "seed \(seed), group limit \(groupLimit)")
    }
  }
}
