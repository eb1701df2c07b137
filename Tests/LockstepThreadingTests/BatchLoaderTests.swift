import LockstepTestSupport
import LockstepThreading
import Testing

@Suite("Values that are loaded in batches", .timeLimit(.minutes(10)))
struct BatchLoaderTests {
  private struct Failed: Error, Equatable {}

  private typealias Loader = BatchLoader<Int, String>

  /// A source of values, whose reads the test runs itself.
  private final class Source: Sendable {
    let batches = LockedState<[Loader.Batch]>([])
    let values = LockedState<[Int: String]>([:])
    let memory = LockedState<[Int: String]>([:])
    let isClosed = LockedState(false)

    func loader(
      size: Int = 4,
      atOnce: Int = 1,
      waiting: Int = 8,
      joinsReads: Bool = true,
      failsAll: @escaping @Sendable (any Error) -> Bool = { _ in false }
    ) -> Loader {
      Loader(
        BatchLoaderOptions(
          "test",
          size: size,
          atOnce: atOnce,
          waiting: waiting,
          joinsReads: joinsReads,
          failsAll: failsAll
        ),
        known: { key in self.memory.withLock { $0[key] } },
        keep: { key, value in
          self.memory.withLock { $0[key] = value }
          return value
        }
      ) { batch in
        if self.isClosed.withLock({ $0 }) { throw Failed() }
        self.batches.withLock { $0.append(batch) }
      }
    }

    /// The batch that was submitted first and is not read yet.
    func next() -> Loader.Batch? { batches.withLock { $0.isEmpty ? nil : $0.removeFirst() } }

    func value(of key: Int) -> String { values.withLock { $0[key] } ?? "\(key)" }

    /// Reads the next batch. Returns its keys.
    @discardableResult
    func read(failing: Int? = nil) throws -> [Int] {
      let batch = try #require(next())
      let keys = Array(batch.keys)
      batch.end(
        Result {
          try batch.read { key in
            if key == failing { throw Failed() }
            return value(of: key)
          }
        }
      )
      return keys
    }
  }

  /// The results that callers got, in order.
  private final class Callers: Sendable {
    private let results = LockedState<[(key: Int, result: Result<String, any Error>)]>([])

    func load(_ key: Int, from network: Int? = nil, with loader: Loader) {
      loader.load(key, from: network) { result in self.results.withLock { $0.append((key, result)) } }
    }

    var values: [String?] { results.withLock { $0.map { try? $0.result.get() } } }
    var failed: [Int] { results.withLock { $0.filter { (try? $0.result.get()) == nil }.map(\.key) } }
    var errors: [any Error] {
      results.withLock { $0.compactMap { if case .failure(let error) = $0.result { error } else { nil } } }
    }
  }

  private let source = Source()
  private let callers = Callers()

  @Test("Keys that are asked for while a batch is read make the next batches, and callers of a key share its read")
  func batches() throws {
    let loader = source.loader(size: 3)
    for key in [1, 2, 1] { callers.load(key, with: loader) }
    let first = try #require(source.next())
    #expect(first.keys == [1, 2])
    for key in [3, 4, 5, 6, 2] { callers.load(key, with: loader) }
    #expect(source.next() == nil, "one batch at a time")
    first.read { source.value(of: $0) }
    #expect(callers.values == [], "the callers are woken at the end of the batch")
    first.end(.success(()))
    #expect(callers.values == ["1", "1", "2", "2"])
    #expect(try source.read() == [3, 4, 5])
    #expect(try source.read() == [6])
    #expect(callers.values.count == 8 && source.next() == nil)
    callers.load(1, with: loader)
    #expect(try source.read() == [], "its value is in memory")
    #expect(callers.values.last == "1")
  }

  @Test("The networks take turns in each batch, and a network's waiting keys are limited")
  func turns() throws {
    let loader = source.loader(waiting: 8)
    for key in 1...8 { callers.load(key, from: 1, with: loader) }
    callers.load(9, from: 1, with: loader)
    #expect(callers.errors as? [PoolOverloadedError] == [PoolOverloadedError(pool: "test", capacity: 8)])
    callers.load(20, from: 2, with: loader)
    callers.load(30, with: loader)
    callers.load(31, with: loader)
    #expect(try source.read() == [1, 20, 30, 2])
    #expect(try source.read() == [31, 3, 4, 5])
    #expect(try source.read() == [6, 7, 8])
  }

  @Test("As many batches are read at a time as the options say")
  func atOnce() throws {
    let loader = source.loader(size: 1, atOnce: 2)
    for key in 1...4 { callers.load(key, with: loader) }
    let (first, second) = (try #require(source.next()), try #require(source.next()))
    #expect(source.next() == nil)
    #expect(first.keys == [1] && second.keys == [2])
    second.read { source.value(of: $0) }
    second.end(.success(()))
    #expect(try source.read() == [3])
    #expect(try source.read() == [4])
    first.read { source.value(of: $0) }
    first.end(.success(()))
    #expect(callers.values == ["2", "3", "4", "1"] && source.next() == nil)
  }

  @Test("A value that is invalidated while it is read is not kept, and is read again")
  func invalidated() throws {
    let loader = source.loader()
    for key in [1, 2] { callers.load(key, with: loader) }
    let batch = try #require(source.next())
    #expect(batch.keys == [1, 2])
    batch.read { key in
      let value = source.value(of: key)
      source.values.withLock { $0[1] = "new" }
      loader.invalidate(1)
      return value
    }
    batch.end(.success(()))
    #expect(callers.values == ["2"])
    #expect(source.memory.withLock { $0 } == [2: "2"])
    #expect(try source.read() == [1])
    #expect(callers.values == ["2", "new"])
  }

  @Test("A value that another part of the program has stored meanwhile is not read again")
  func stored() throws {
    let loader = source.loader()
    callers.load(1, with: loader)
    let batch = try #require(source.next())
    batch.read { key in
      loader.invalidateAll()
      source.memory.withLock { $0[key] = "stored" }
      return "old"
    }
    batch.end(.success(()))
    #expect(callers.values == [])
    #expect(try source.read() == [])
    #expect(callers.values == ["stored"])
  }

  @Test("An invalidation before the read begins does not repeat it")
  func invalidatedBefore() throws {
    let loader = source.loader()
    callers.load(1, with: loader)
    loader.invalidate(1)
    #expect(try source.read() == [1])
    #expect(callers.values == ["1"])
  }

  @Test("If the read of a batch fails, its other keys are read alone, so only the damaged one fails")
  func failing() throws {
    let loader = source.loader()
    for key in 1...4 { callers.load(key, with: loader) }
    #expect(try source.read(failing: 2) == [1, 2, 3, 4])
    #expect(callers.values == ["1"])
    for _ in 1...3 { #expect(try source.read(failing: 2).count == 1) }
    #expect(callers.failed == [2] && callers.values.count == 4)
    callers.load(2, with: loader)
    #expect(try source.read() == [2])
    #expect(callers.values.last == "2")
  }

  @Test("If the error concerns the source itself, all keys of the batch fail, and none is read again")
  func failedSource() throws {
    let loader = source.loader { $0 is Failed }
    for key in 1...4 { callers.load(key, with: loader) }
    // The first batch has one key, because it began with the first caller.
    while source.batches.withLock({ !$0.isEmpty }) { _ = try source.read(failing: try firstKey()) }
    #expect(callers.failed.sorted() == [1, 2, 3, 4])
  }

  /// The first key of the next batch.
  private func firstKey() throws -> Int { try #require(source.batches.withLock { $0.first?.keys.first }) }

  @Test("A key whose value changes during each of its reads takes turns with the keys that wait")
  func repeatedKey() throws {
    let loader = source.loader(size: 1, waiting: 100)
    for key in 1...4 { callers.load(key, with: loader) }
    var reads: [Int] = []
    for _ in 0..<8 {
      let batch = try #require(source.next())
      reads += batch.keys
      if batch.keys.contains(1) { loader.invalidate(1) }
      batch.read { source.value(of: $0) }
      batch.end(.success(()))
    }
    #expect(reads == [1, 1, 2, 1, 3, 1, 4, 1])
    #expect(callers.values.compactMap { $0 } == ["2", "3", "4"])
  }

  @Test("After a lost connection, a batch can be read from where it stopped")
  func continued() throws {
    let loader = source.loader()
    for key in 1...3 { callers.load(key, with: loader) }
    let batch = try #require(source.next())
    let read = LockedState<[Int]>([])
    for isLost in [true, false] {
      try? batch.read { key in
        read.withLock { $0.append(key) }
        if isLost, key == 2 { throw Failed() }
        return source.value(of: key)
      }
    }
    batch.end(.success(()))
    #expect(read.withLock { $0 } == [1, 2, 2, 3])
    #expect(callers.values == ["1", "2", "3"])
  }

  @Test("If batches cannot be submitted, all waiting keys fail, and a later load works")
  func closed() throws {
    let loader = source.loader(size: 2)
    callers.load(1, with: loader)
    for key in 2...6 { callers.load(key, with: loader) }
    source.isClosed.withLock { $0 = true }
    #expect(try source.read() == [1, 2])
    #expect(callers.failed == [3, 4, 5, 6])
    source.isClosed.withLock { $0 = false }
    callers.load(7, with: loader)
    #expect(try source.read() == [7])
  }

  @Test("A caller that needs a read that begins after its call gets the next one")
  func later() throws {
    let source = Source()
    let loader = BatchLoader<Int, String>(BatchLoaderOptions("test", size: .max, waiting: .max, joinsReads: false)) {
      batch in source.batches.withLock { $0.append(batch) }
    }
    callers.load(1, with: loader)
    callers.load(1, with: loader)
    let first = try #require(source.next())
    #expect(first.keys == [1])
    for key in [1, 2, 1] { callers.load(key, with: loader) }
    first.read { _ in "first" }
    first.end(.success(()))
    #expect(callers.values == ["first", "first"])
    let second = try #require(source.next())
    #expect(Set(second.keys) == [1, 2])
    second.read { _ in "second" }
    second.end(.success(()))
    #expect(callers.values.count == 5 && callers.values.last == "second" && source.next() == nil)
  }

  @Test("A caller whose task is cancelled still gets its value, and the other callers do too")
  func cancelled() async throws {
    let loader = source.loader()
    let tasks = (0..<3).map { _ in Task { try await loader.value(of: 1) } }
    tasks[0].cancel()
    let isDone = LockedState(false)
    async let reads: Void = eventually {
      while let batch = source.next() {
        batch.read { source.value(of: $0) }
        batch.end(.success(()))
      }
      return isDone.withLock { $0 }
    }
    for task in tasks { #expect(try await task.value == "1") }
    isDone.withLock { $0 = true }
    await reads
  }

  @Test("Many callers of many keys all get a value that was read after the last invalidation before their call")
  func stress() async throws {
    let pool = try WorkerPool(name: "read", threads: 2, capacity: 4_096)
    defer { pool.shutDown() }
    let versions = LockedState([Int](repeating: 0, count: 10))
    let loader = BatchLoader<Int, Int>(BatchLoaderOptions("test", size: 4, atOnce: 2)) { batch in
      try pool.submit { (_: inout Void) in
        batch.read { key in versions.withLock { $0[key] } }
      } completion: {
        batch.end($0)
      }
    }
    let isRight = try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<2_000 {
        group.addTask {
          let key = number % 10
          let version = versions.withLock { versions in
            if number % 7 == 0 { versions[key] += 1 }
            return versions[key]
          }
          if number % 7 == 0 { loader.invalidate(key) }
          let value = try await loader.value(of: key, from: number % 3)
          return number % 7 == 0 ? value >= version : true
        }
      }
      return try await group.reduce(true) { $0 && $1 }
    }
    #expect(isRight)
  }
}
