import LockstepThreading
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections

@Suite("A table of rates", .timeLimit(.minutes(10)))
struct RateTableTests {
  /// One second in nanoseconds.
  private let s: Int64 = 1_000_000_000
  private let limit = RateLimit(requests: 1, seconds: 10, burst: 3)

  @Test("A burst is allowed at once, and then one use in each interval")
  func rate() {
    var table = RateTable<String>(capacity: 10)
    var allowed: [Int] = []
    for second in 0..<60 where table.wait(for: "a", limit, at: Int64(second) * s) == 0 {
      table.use("a", limit, at: Int64(second) * s)
      allowed.append(second)
    }
    #expect(allowed == [0, 1, 2, 10, 20, 30, 40, 50])
  }

  @Test("After the announced wait one more use is allowed, and not earlier")
  func wait() {
    var table = RateTable<String>(capacity: 10)
    for _ in 0..<3 { table.use("a", limit, at: 100 * s) }
    #expect(table.wait(for: "a", limit, at: 100 * s) == 10 * s)
    #expect(table.wait(for: "a", limit, at: 109 * s + s / 2) == s / 2)
    #expect(table.wait(for: "a", limit, at: 110 * s) == 0)
    #expect(table.wait(for: "b", limit, at: 100 * s) == 0, "other keys have their own limit")
  }

  @Test("A use that is given back can be used again, and an unused key takes no memory")
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
    #expect(table.wait(for: "a", limit, at: 0) > 0, "giving back more than was used has no effect")
  }

  @Test("The table never exceeds its capacity, and keeps the most exhausted keys")
  func bounded() {
    var table = RateTable<Int>(capacity: 100)
    for _ in 0..<3 { table.use(-1, limit, at: 0) }
    for key in 0..<10_000 {
      table.use(key, limit, at: Int64(key / 10) * s / 1000)
      #expect(table.count <= 100)
    }
    #expect(table.wait(for: -1, limit, at: 1 * s) == 9 * s)
  }

  @Test("Recovered keys are evicted first")
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
struct GenerationalCacheTests {
  @Test("There are never more keys than the capacity, and the newest half is always there", arguments: 1...40)
  func bounded(capacity: Int) {
    var keys = GenerationalCache<Int, Void>(capacity: capacity)
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

  @Test("A key that is looked up stays")
  func found() {
    var keys = GenerationalCache<Int, Void>(capacity: 10)
    keys.insert(-1)
    for key in 0..<100 {
      keys.insert(key)
      let isThere = keys.contains(-1)
      #expect(isThere)
    }
    let isOldThere = keys.contains(0)
    #expect(!isOldThere)
  }

  @Test("A key that is inserted again is still one key")
  func again() {
    var keys = GenerationalCache<Int, Void>(capacity: 4)
    for key in [1, 2, 1, 3, 1, 2, 1] { keys.insert(key) }
    #expect(keys.count == 3)
    let isOtherThere = keys.contains(4)
    #expect(!isOtherThere)
  }
}
