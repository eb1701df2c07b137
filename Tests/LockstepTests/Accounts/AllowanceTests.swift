import Testing

@testable import LockstepAccounts
@testable import LockstepCollections

@Suite("An allowance")
struct AllowanceTests {
  private let allowance = Allowance(burst: 3, every: .seconds(10))

  @Test("So many at once, then one in every interval")
  func rate() {
    var table = AllowanceTable<String>(capacity: 10)
    var allowed: [Int] = []
    for second in 0..<60 where table.wait(for: "a", allowance, now: .seconds(second)) == .zero {
      table.use("a", allowance, now: .seconds(second))
      allowed.append(second)
    }
    #expect(allowed == [0, 1, 2, 10, 20, 30, 40, 50])
  }

  @Test("Who waits as long as they were told may, and not a moment earlier")
  func wait() {
    var table = AllowanceTable<String>(capacity: 10)
    for _ in 0..<3 { table.use("a", allowance, now: .seconds(100)) }
    #expect(table.wait(for: "a", allowance, now: .seconds(100)) == .seconds(10))
    #expect(table.wait(for: "a", allowance, now: .seconds(109.5)) == .seconds(0.5))
    #expect(table.wait(for: "a", allowance, now: .seconds(110)) == .zero)
    #expect(table.wait(for: "b", allowance, now: .seconds(100)) == .zero, "another key has its own")
  }

  @Test("What is given back can be used again, and a key that has everything takes no room")
  func givenBack() {
    var table = AllowanceTable<String>(capacity: 10)
    for _ in 0..<3 { table.use("a", allowance, now: .zero) }
    table.giveBack("a", allowance, now: .zero)
    #expect(table.wait(for: "a", allowance, now: .zero) == .zero)
    table.giveBack("a", allowance, now: .zero)
    table.giveBack("a", allowance, now: .zero)
    #expect(table.count == 0)
    table.giveBack("a", allowance, now: .zero)
    for _ in 0..<3 { table.use("a", allowance, now: .zero) }
    #expect(table.wait(for: "a", allowance, now: .zero) > .zero, "giving back more than was used gains nothing")
  }

  @Test("The table never grows beyond its capacity, and keeps those that have the least left")
  func bounded() {
    var table = AllowanceTable<Int>(capacity: 100)
    for _ in 0..<3 { table.use(-1, allowance, now: .zero) }
    for key in 0..<10_000 {
      table.use(key, allowance, now: .milliseconds(key / 10))
      #expect(table.count <= 100)
    }
    #expect(table.wait(for: -1, allowance, now: .seconds(1)) == .seconds(9))
  }

  @Test("Those that have everything back make room first")
  func recovered() {
    var table = AllowanceTable<Int>(capacity: 8)
    for key in 0..<4 { table.use(key, allowance, now: .zero) }
    for key in 4..<8 { table.use(key, allowance, now: .seconds(20)) }
    table.use(8, allowance, now: .seconds(20))
    #expect(table.count == 5)
    for key in 4..<9 {
      for _ in 0..<2 { table.use(key, allowance, now: .seconds(20)) }
      #expect(table.wait(for: key, allowance, now: .seconds(20)) > .zero, "\(key) was kept")
    }
  }
}

@Suite("Recent keys")
struct RecentKeysTests {
  @Test("There are never more than there is room for, and the newest half is always there", arguments: 1...40)
  func bounded(capacity: Int) {
    var keys = RecentKeys<Int>(capacity: capacity)
    for key in 0..<200 {
      keys.insert(key)
      #expect(keys.count <= max(2, capacity))
      for recent in max(0, key - max(1, capacity / 2) + 1)...key {
        var copy = keys
        let isThere = copy.find(recent)
        #expect(isThere, "\(recent) of \(key)")
      }
    }
  }

  @Test("A key that is found stays")
  func found() {
    var keys = RecentKeys<Int>(capacity: 10)
    keys.insert(-1)
    for key in 0..<100 {
      keys.insert(key)
      let isThere = keys.find(-1)
      #expect(isThere)
    }
    let isOldThere = keys.find(0)
    #expect(!isOldThere)
  }

  @Test("A key that is added again stays one key")
  func again() {
    var keys = RecentKeys<Int>(capacity: 4)
    for key in [1, 2, 1, 3, 1, 2, 1] { keys.insert(key) }
    #expect(keys.count == 3)
    let isOtherThere = keys.find(4)
    #expect(!isOtherThere)
  }
}
