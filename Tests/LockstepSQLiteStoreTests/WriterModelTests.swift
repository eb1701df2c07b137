import LockstepSQLite
import Testing
import LockstepTestSupport
import LockstepThreading

/// Runs random groups of random units against a dictionary.
@Suite("The writer against a model", .timeLimit(.minutes(10)))
struct WriterModelTests {
  /// The action of a unit.
  private enum Step: CaseIterable {
    case insert, update, delete
    /// Writes, and then throws.
    case fail
    /// Throws before it has written anything.
    case refuse
    /// Writes, rolls a part back to its own savepoint, and continues.
    case retreat
    /// Breaks a constraint after it has written.
    case collide
    /// Rolls the whole transaction back, as SQLite does when a disk fails.
    case undoAll
  }

  private struct Unit {
    let step: Step
    let number: Int
    let filler: Int

    /// Applies the unit to a store of numbers and the sizes of their fillers. Throws if it should
    /// fail alone.
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

  /// The expected outcomes of the units with a group limit.
  private func predict(_ units: [Unit], groupLimit: Int, store: inout [Int: Int]) -> [Bool] {
    var outcomes: [Bool] = []
    // The store on disk, and the number of units in the open transaction.
    var saved = store
    var open = 0
    for unit in units {
      var after = store
      let isWritten = (try? unit.apply(to: &after)) != nil
      outcomes.append(isWritten)
      if isWritten { store = after }
      // If a unit fails alone in its transaction, no other unit is affected.
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

  @Test("Any units give the changes and the outcomes of the model", arguments: 1...6)
  func model(round: Int) async throws {
    let seed = TestSeed.make(for: "Writer")
    var random = SeededNumbers(seed: seed)
    let groupLimit = Int.random(in: 2...12, using: &random)
    let fixture = try WriterFixture(options: .init(groupLimit: groupLimit, checkpointPages: 30))
    var store: [Int: Int] = [:]
    for _ in 1...40 {
      let units = (0..<Int.random(in: 1...20, using: &random)).map { _ in
        // Some transactions are rolled back as a whole, but most are not.
        let step = Step.allCases.randomElement(using: &random) ?? .insert
        return Unit(
          step: step == .undoAll && Int.random(in: 0..<3, using: &random) > 0 ? .update : step,
          number: Int.random(in: 0..<30, using: &random),
          filler: Int.random(in: 0..<3_000, using: &random)
        )
      }
      let outcomes = Log<Bool>()
      let gate = Gate()
      try await fixture.holdBetweenGroups(gate)
      for unit in units {
        try fixture.writer.submit(
          { connection in try unit.run(connection) },
          completion: { (result: Result<Void, any Error>) in outcomes.add(WriterFixture.word(for: result) == "written")
          }
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
