import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepStore

@Suite("Ranks of lists", .timeLimit(.minutes(10)))
struct ListRanksTests {
  /// The ranks of a table, in memory.
  private final class Table {
    var ranks: [ElementKey: Int] = [:]
    var changes = 0

    var all: ListRanks {
      ListRanks(
        rank: { self.ranks[$0] },
        setRank: { item, rank in
          self.changes += 1
          self.ranks[item.id] = rank
        }
      )
    }
  }

  @Test("A rank that no server has written is an error", arguments: [Int.min, -1 << 62, 1 << 62, Int.max])
  func damaged(rank: Int) throws {
    let table = Table()
    var list = ListState()
    for (index, id) in ["a", "b"].enumerated() {
      list.apply(.inserted(id: id, item: EncodedJSON(["id": .string(id)]), index: index))
    }
    table.ranks = ["a": 0, "b": rank]
    for index in 1...2 {
      #expect(throws: RankDamagedError.self) { try table.all.rank(in: ListGap(at: index, of: list)) }
    }
    #expect(try table.all.rank(in: ListGap(at: 0, of: list)) < 0)
    for rank in [ListRanks.bounds.lowerBound, ListRanks.bounds.upperBound] {
      table.ranks = ["a": -rank, "b": rank]
      for index in 0...2 { _ = try table.all.rank(in: ListGap(at: index, of: list)) }
    }
  }

  @Test(
    "An insertion changes few other rows, also after thousands of insertions at one place or at random places",
    arguments: ["one place", "random", "beginning"]
  )
  func insertions(_ habit: String) throws {
    var random = SeededNumbers(seed: TestSeed.make(for: "Ranks, \(habit)"))
    let table = Table()
    var list = ListState()
    var most = 0
    for number in 0..<4_000 {
      let id = "\(number)"
      let index =
        switch (number < 1_000 ? "" : habit) {
        case "one place": 500
        case "random": random.below(list.count)
        case "beginning": 0
        default: list.count
        }
      let before = table.changes
      table.ranks[ElementKey(id)] = try table.all.rank(in: ListGap(at: index, of: list))
      most = max(most, table.changes - before)
      list.apply(.inserted(id: id, item: EncodedJSON(["id": .string(id)]), index: index))
    }
    let ranks = list.items.compactMap { table.ranks[$0.id] }
    #expect(ranks.count == list.count && zip(ranks, ranks.dropFirst()).allSatisfy { $0 < $1 })
    #expect(table.changes < 3 * list.count && most <= 512, "\(table.changes) changes, at most \(most)")
  }
}
