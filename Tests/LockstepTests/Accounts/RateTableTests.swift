import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections

@Suite("A table of rates", .timeLimit(.minutes(10)))
struct RateTableTests {
  /// A second in nanoseconds.
  private let s: Int64 = 1_000_000_000
  private let limit = RateLimit(requests: 1, seconds: 10, burst: 3)

  @Test("So many at once, then one in every interval")
  func rate() {
    var table = RateTable<String>(capacity: 10)
    var allowed: [Int] = []
    for second in 0..<60 where table.wait(for: "a", limit, at: Int64(second) * s) == 0 {
      table.use("a", limit, at: Int64(second) * s)
      allowed.append(second)
    }
    #expect(allowed == [0, 1, 2, 10, 20, 30, 40, 50])
  }

  @Test("Who waits as long as they were told may, and not a moment earlier")
  func wait() {
    var table = RateTable<String>(capacity: 10)
    for _ in 0..<3 { table.use("a", limit, at: 100 * s) }
    #expect(table.wait(for: "a", limit, at: 100 * s) == 10 * s)
    #expect(table.wait(for: "a", limit, at: 109 * s + s / 2) == s / 2)
    #expect(table.wait(for: "a", limit, at: 110 * s) == 0)
    #expect(table.wait(for: "b", limit, at: 100 * s) == 0, "another key has its own")
  }

  @Test("What is given back can be used again, and a key that has everything takes no room")
  func givenBack() {
    var table = RateTable<String>(capacity: 10)
    for _ in 0..<3 { table.use("a", limit, at: 0) }
    table.giveBack("a", limit, at: 0)
    #expect(table.wait(for: "a", limit, at: 0) == 0)
    table.giveBack("a", limit, at: 0)
    table.giveBack("a", limit, at: 0)
    #expect(table.count == 0)
    table.giveBack("a", limit, at: 0)
    for _ in 0..<3 { table.use("a", limit, at: 0) }
    #expect(table.wait(for: "a", limit, at: 0) > 0, "giving back more than was used gains nothing")
  }

  @Test("The table never grows beyond its capacity, and keeps those that have the least left")
  func bounded() {
    var table = RateTable<Int>(capacity: 100)
    for _ in 0..<3 { table.use(-1, limit, at: 0) }
    for key in 0..<10_000 {
      table.use(key, limit, at: Int64(key / 10) * s / 1000)
      #expect(table.count <= 100)
    }
    #expect(table.wait(for: -1, limit, at: 1 * s) == 9 * s)
  }

  @Test("Those that have everything back make room first")
  func recovered() {
    var table = RateTable<Int>(capacity: 8)
    for key in 0..<4 { table.use(key, limit, at: 0) }
    for key in 4..<8 { table.use(key, limit, at: 20 * s) }
    table.use(8, limit, at: 20 * s)
    #expect(table.count == 5)
    for key in 4..<9 {
      for _ in 0..<2 { table.use(key, limit, at: 20 * s) }
      #expect(table.wait(for: key, limit, at: 20 * s) > 0, "\(key) was kept")
    }
  }
}

@Suite("Recent keys", .timeLimit(.minutes(10)))
struct RecentTableTests {
  @Test("There are never more than there is room for, and the newest half is always there", arguments: 1...40)
  func bounded(capacity: Int) {
    var keys = RecentTable<Int, Void>(capacity: capacity)
    for key in 0..<200 {
      keys.insert(key)
      #expect(keys.count <= max(2, capacity))
      for recent in max(0, key - max(1, capacity / 2) + 1)...key {
        var copy = keys
        let isThere = copy.contains(recent)
        #expect(isThere, "\(recent) of \(key)")
      }
    }
  }

  @Test("A key that is found stays")
  func found() {
    var keys = RecentTable<Int, Void>(capacity: 10)
    keys.insert(-1)
    for key in 0..<100 {
      keys.insert(key)
      let isThere = keys.contains(-1)
      #expect(isThere)
    }
    let isOldThere = keys.contains(0)
    #expect(!isOldThere)
  }

  @Test("A key that is added again stays one key")
  func again() {
    var keys = RecentTable<Int, Void>(capacity: 4)
    for key in [1, 2, 1, 3, 1, 2, 1] { keys.insert(key) }
    #expect(keys.count == 3)
    let isOtherThere = keys.contains(4)
    #expect(!isOtherThere)
  }
}
