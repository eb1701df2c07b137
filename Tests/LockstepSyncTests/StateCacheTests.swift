import LockstepHTTP
import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import LockstepTime
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("States in memory", .timeLimit(.minutes(10)))
struct StateCacheTests {
  /// Counts loads, and blocks them if a test says so.
  private final class Loads: Sendable {
    struct Held: Sendable {
      let arrival = ThreadGate()
      let gate = ThreadGate()
    }

    private let state = LockedState((count: 0, held: [Held]()))

    var count: Int { state.withLock { $0.count } }

    /// Blocks the next load after it has read the state, and before the state is in memory.
    func holdNext() -> Held {
      let held = Held()
      state.withLock { $0.held.append(held) }
      return held
    }

    func pass() {
      let held = state.withLock { state in
        state.count += 1
        return state.held.isEmpty ? nil : state.held.removeFirst()
      }
      held?.arrival.open()
      held?.gate.pass()
    }
  }

  private let loads = Loads()

  private func fixture(cacheBytes: Int = 1 << 20) throws -> SyncFixture {
    let loads = loads
    return try SyncFixture { choices in
      choices.cacheBytes = cacheBytes
      choices.didLoad = { _ in loads.pass() }
    }
  }

  @Test("A user who is not in memory is loaded once for all concurrent readers")
  func once() async throws {
    let fixture = try fixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    try fixture.restart()
    let cache = fixture.cache
    let before = loads.count
    let held = loads.holdNext()
    let readers = (0..<50).map { _ in Task { try await cache.load(ann.user) } }
    await held.arrival.opened()
    // Readers that have already come wait for the load, and the others will find the state in
    // memory.
    held.gate.open()
    var states: [CachedState] = []
    for reader in readers { states.append(try await reader.value) }
    #expect(states.allSatisfy { $0 === states[0] } && states[0].state.revision == 1)
    #expect(loads.count == before + 1)
    #expect(cache.state(of: ann.user) === states[0])
  }

  @Test("A state that was read before a commit never replaces the published one")
  func race() async throws {
    let fixture = try fixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    let cache = fixture.cache
    // With a reservation, a commit does not wait for the reader.
    let reservation = fixture.ledger.reserve(ann.user)
    defer { withExtendedLifetime(reservation) {} }
    cache.forget(ann.user)
    let held = loads.holdNext()
    let reader = Task { try await cache.load(ann.user) }
    await held.arrival.opened()
    // The reader has read the state at revision 1.
    try await fixture.commit([try fixture.set("a", 2)], as: ann)
    #expect(cache.state(of: ann.user)?.state.revision == 2)
    held.gate.open()
    #expect(try await reader.value.state.revision == 2)
    #expect(cache.state(of: ann.user)?.state.revision == 2)
  }

  @Test("A state that was read before a commit is read again if the published state was evicted in the meantime")
  func raceAndEviction() async throws {
    let fixture = try fixture(cacheBytes: 0)
    let (ann, bob, cid) = (try await fixture.user(1), try await fixture.user(2), try await fixture.user(3))
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    let cache = fixture.cache
    // With reservations, the commits do not wait for the reader.
    let reservations = [ann, bob, cid].map { fixture.ledger.reserve($0.user) }
    defer { withExtendedLifetime(reservations) {} }
    for reservation in reservations { try await fixture.ledger.load(reservation, from: nil) }
    #expect(cache.state(of: ann.user) == nil)
    let before = loads.count
    let held = loads.holdNext()
    let reader = Task { try await cache.load(ann.user) }
    await held.arrival.opened()
    try await fixture.commit([try fixture.set("a", 2)], as: ann)
    for other in [bob, cid] { try await fixture.commit([try fixture.set("a", 1)], as: other) }
    #expect(cache.state(of: ann.user) == nil)
    held.gate.open()
    #expect(try await reader.value.state.revision == 2)
    #expect(loads.count >= before + 2)
    #expect(cache.state(of: ann.user)?.state.revision == 2)
  }

  @Test("A user who is removed while the state is read is read again")
  func forgotten() async throws {
    let fixture = try fixture()
    let ann = try await fixture.user(1)
    try await fixture.commit([try fixture.set("a", 1)], as: ann)
    try fixture.restart()
    let cache = fixture.cache
    let held = loads.holdNext()
    let reader = Task { try await cache.load(ann.user) }
    await held.arrival.opened()
    try await fixture.store.writer.write {
      try UserRecords(connection: $0).erase(ann.user, at: Timestamp(millisecondsSince1970: 0))
    }
    cache.forget(ann.user)
    held.gate.open()
    #expect(try await reader.value.state.collections.isEmpty)
  }

  @Test("A failed load fails for all who wait for it, and the next one tries again")
  func failing() async throws {
    struct Broken: Error {}
    let files = try StoreFixture()
    let store = try files.testedStore()
    defer { store.close() }
    let isBroken = LockedState(true)
    let cache = StateCache(capacity: 1000, readers: UserReaders(store.readers, threads: 1)) { _, _ in
      if isBroken.withLock({ $0 }) { throw Broken() }
      return UserState()
    }
    let user = SyncFixture.session(1).user
    await #expect(throws: Broken.self) { try await cache.load(user) }
    isBroken.withLock { $0 = false }
    #expect(try await cache.load(user).state.revision == 0)
  }

  // MARK: Limits

  @Test("The memory has a limit, and recently used states stay")
  func bounded() async throws {
    let files = try StoreFixture()
    let store = try files.testedStore()
    defer { store.close() }
    let cache = StateCache(capacity: 100_000, readers: UserReaders(store.readers, threads: 1)) { _, _ in UserState() }
    let often = SyncFixture.session(0).user
    let cost = CachedState(UserState(), after: nil).cost
    for number in 0..<2000 {
      cache.publish(UserState(), of: SyncFixture.session(UInt64(number)).user)
      #expect(cache.state(of: often) != nil)
      #expect(cache.size.bytes <= 100_000 && cache.size.bytes == cache.size.users * cost)
    }
    #expect(cache.size.users > 50)
    #expect(cache.state(of: SyncFixture.session(1).user) == nil)
    #expect(cache.state(of: SyncFixture.session(1999).user) != nil)
  }

  /// A state with one value of this many bytes.
  private func state(ofBytes bytes: Int) -> UserState {
    var state = UserState()
    let value = EncodedJSON(.string(String(repeating: "1", count: bytes)))
    let set = CollectionMutation.map(.set(key: "a", value: value))
    _ = state.reduce([set], in: CollectionName("profile"), by: .plainMap, revision: 1)
    return state
  }

  @Test("Large states evict each other, but not the small ones, and the memory has a limit")
  func large() async throws {
    let files = try StoreFixture()
    let store = try files.testedStore()
    defer { store.close() }
    let capacity = 4 << 20
    let readers = UserReaders(store.readers, threads: 1)
    let cache = StateCache(capacity: capacity, readers: readers) { _, _ in UserState() }
    let (small, large) = (0..<200, 1_000..<1_050)
    for number in small { cache.publish(state(ofBytes: 1_000), of: SyncFixture.session(UInt64(number)).user) }
    for number in large {
      cache.publish(state(ofBytes: 300_000), of: SyncFixture.session(UInt64(number)).user)
      #expect(cache.size.bytes <= capacity)
    }
    let kept = { (users: Range<Int>) in users.filter { cache.state(of: SyncFixture.session(UInt64($0)).user) != nil } }
    #expect(kept(small).count == small.count)
    #expect((2...10).contains(kept(large).count) && kept(large).contains(1_049))
    // A state that shrinks becomes a small one, and the other way round.
    let last = SyncFixture.session(1_049).user
    for bytes in [1_000, 300_000, 1_000] {
      cache.publish(state(ofBytes: bytes), of: last)
      let users = cache.size.users
      cache.forget(last)
      #expect(cache.size.users == users - 1)
    }
    // Without large states, small ones may use all of the memory.
    for number in large { cache.forget(SyncFixture.session(UInt64(number)).user) }
    for number in 0..<4_000 { cache.publish(state(ofBytes: 1_000), of: SyncFixture.session(UInt64(number)).user) }
    #expect(cache.size.bytes > capacity / 4 && cache.size.bytes <= capacity)
  }

  @Test("A state larger than three quarters of the cache does not evict small states")
  func huge() throws {
    let cache = try fixture(cacheBytes: 4 << 20).cache
    let small = (0..<200).map { SyncFixture.session($0).user }
    for user in small { cache.publish(state(ofBytes: 1_000), of: user) }
    cache.publish(state(ofBytes: 8 << 20), of: SyncFixture.session(1_000).user)
    #expect(small.allSatisfy { cache.state(of: $0) != nil })
  }

  @Test("After a large state has become small, the old large state never comes back")
  func shrunk() throws {
    let largeUsers = LargeUsers()
    var states = CachedStates(capacity: 4 << 20, largeUsers: largeUsers)
    let ann = SyncFixture.session(1).user
    states.insert(CachedState(state(ofBytes: 300_000), after: nil), for: ann)
    largeUsers.remove(ann)
    states.insert(CachedState(state(ofBytes: 1_000), after: nil), for: ann)
    for number in 2..<5_000 {
      states.insert(CachedState(state(ofBytes: 1_000), after: nil), for: SyncFixture.session(UInt64(number)).user)
    }
    #expect(states.use(ann) == nil)
  }

  @Test("A published state does not replace a newer one that a load has read")
  func newerLoaded() throws {
    let cache = try fixture().cache
    let ann = SyncFixture.session(1).user
    var (first, second) = (UserState(), UserState())
    (first.revision, second.revision) = (1, 2)
    cache.publish(second, of: ann)
    cache.publish(first, of: ann)
    #expect(cache.revision(of: ann) == 2)
  }

  @Test("While large states are read from the store, other states are read too")
  func longLoads() async throws {
    let blocked = [SyncFixture.session(1).user, SyncFixture.session(2).user, SyncFixture.session(3).user]
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    let isBlocking = LockedState(false)
    let fixture = try SyncFixture { choices in
      choices.cacheBytes = 1 << 20
      choices.willLoad = { user in
        guard isBlocking.withLock({ $0 }), blocked.contains(user) else { return }
        arrival.open()
        gate.pass()
      }
    }
    defer { gate.open() }
    for number in 1...3 {
      let session = try await fixture.user(UInt64(number))
      for key in 0..<5 {
        let value = JSON.string(String(repeating: "1", count: 60_000))
        try await fixture.commit([try fixture.set("\(key)", value)], as: session)
      }
    }
    let small = try await fixture.user(9)
    // The cache has room for two large states, and these are the last ones.
    for user in blocked { fixture.cache.publish(try await fixture.cache.load(user).state, of: user) }
    isBlocking.withLock { $0 = true }
    let evicted = blocked.filter { fixture.cache.state(of: $0) == nil }
    // As many as there are threads for short reads.
    try #require(evicted.count >= fixture.store.readingThreads)
    let cache = fixture.cache
    let loads = evicted.map { user in Task { try await cache.load(user) } }
    await arrival.opened()
    #expect(try await fixture.state(of: small).revision == 0)
    gate.open()
    for load in loads { #expect(try await load.value.state.revision == 5) }
  }

  @Test("The cost of a state grows with its contents")
  func cost() {
    #expect(state(ofBytes: 998).cost >= UserState().cost + 1001)
  }

  @Test("The cache's count and cost equal those of its states")
  func generations() {
    var random = SeededNumbers(seed: TestSeed.make(for: "Generations"))
    var generations = GenerationalCache<UserID, CachedState>(capacity: 50_000, keepsDropped: true) { $0.cost }
    let users = (0..<40).map { SyncFixture.session($0).user }
    for _ in 0..<5000 {
      let user = random.one(of: users)
      switch random.below(4) {
      case 0:
        _ = generations.use(user)
      case 1: generations.remove(user)
      default:
        let cached = CachedState(state(ofBytes: random.below(5000)), after: nil)
        generations.insert(cached, for: user)
        #expect(generations.peek(user) === cached)
      }
      _ = generations.takeDropped()
      let held = users.compactMap { generations.peek($0) }
      #expect(generations.count == held.count && generations.cost == held.reduce(0) { $0 + $1.cost })
      #expect(generations.cost <= 50_000)
    }
  }
}
