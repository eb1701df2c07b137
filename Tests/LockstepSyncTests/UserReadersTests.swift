import LockstepJSON
import LockstepSQLite
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepStore
@testable import LockstepSync

@Suite("Reader threads that users share", .timeLimit(.minutes(10)))
struct UserReadersTests {
  @Test("One user's reads, however many, leave a thread for other users")
  func share() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.testedStore()
    defer { store.close() }
    let readers = UserReaders(store.readers, threads: store.readingThreads)
    let (ann, bob) = (SyncFixture.session(1).user, SyncFixture.session(2).user)
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    let held = Task {
      try await readers.read(for: ann, from: nil) { _ in
        arrival.open()
        gate.pass()
      }
    }
    await arrival.opened()
    let waiting = (0..<UserReaders.waiting).map { _ in Task { try await readers.read(for: ann, from: nil) { _ in 1 } } }
    await eventually { readers.shares.waiting(of: ann) == UserReaders.waiting }
    #expect(try await readers.read(for: bob, from: nil) { _ in "bob" } == "bob")
    await #expect(throws: PoolOverloadedError.self) { try await readers.read(for: ann, from: nil) { _ in } }
    waiting[0].cancel()
    await #expect(throws: CancellationError.self) { try await waiting[0].value }
    gate.open()
    try await held.value
    for task in waiting.dropFirst() { #expect(try await task.value == 1) }
  }

  @Test("All reads for a user with a large state run on the long reader, so that others do not wait")
  func large() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.testedStore()
    defer { store.close() }
    let readers = UserReaders(store.readers, threads: store.readingThreads)
    let (ann, bob) = (SyncFixture.session(1).user, SyncFixture.session(2).user)
    readers.largeUsers.insert(ann)
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    let held = Task {
      try await store.readers.read(length: .long) { _ in
        arrival.open()
        gate.pass()
      }
    }
    await arrival.opened()
    let isDone = LockedState(false)
    let waiting = Task { try await readers.read(for: ann, from: nil) { _ in isDone.withLock { $0 = true } } }
    for number in 0..<100 { #expect(try await readers.read(for: bob, from: nil) { _ in number } == number) }
    #expect(!isDone.withLock { $0 })
    gate.open()
    try await held.value
    try await waiting.value
    readers.largeUsers.remove(ann)
    #expect(try await readers.read(for: ann, from: nil) { _ in "ann" } == "ann")
  }

  @Test("The long reader reads the history of a user with a small state and a long journal")
  func longJournal() async throws {
    let fixture = try SyncFixture()
    let (ann, bob) = (try await fixture.user(1), try await fixture.user(2))
    let value = JSON.string(String(repeating: "v", count: 60_000))
    for number in 0..<10 {
      for key in ["a", "b"] {
        try await fixture.commit([try fixture.set(key, number % 2 == 0 ? value : 0)], as: ann)
        try await fixture.commit([try fixture.set(key, .integer(Int64(number)))], as: bob)
      }
    }
    try await fixture.writerIsIdle()
    let readers = UserReaders(fixture.store.readers, threads: 1)
    let written = try await fixture.state(of: ann).written
    #expect(written > UserReaders.longJournal)
    let (arrival, gate) = (ThreadGate(), ThreadGate())
    let store = fixture.store
    let held = Task {
      try await store.readers.read(length: .long) { _ in
        arrival.open()
        gate.pass()
      }
    }
    await arrival.opened()
    defer { gate.open() }
    let isDone = LockedState(0)
    let waiting = [written, nil].map { written in
      Task {
        try await readers.readHistory(of: ann.user, from: nil, written: written) { _ in isDone.withLock { $0 += 1 } }
      }
    }
    await eventually { store.readers.waiting > 0 }
    // Bob's journal is short, whatever he has ever written.
    for written in [100, written, nil] {
      #expect(try await readers.readHistory(of: bob.user, from: nil, written: written) { _ in "bob" } == "bob")
    }
    #expect(isDone.withLock { $0 } == 0)
    gate.open()
    try await held.value
    for task in waiting { try await task.value }
    #expect(isDone.withLock { $0 } == 2)
  }

  @Test("Reads of one network's users leave a thread for the next network")
  func networks() async throws {
    let fixture = try StoreFixture()
    let store = try fixture.testedStore()
    defer { store.close() }
    let readers = UserReaders(store.readers, threads: 1)
    let gate = ThreadGate()
    defer { gate.open() }
    let order = LockedState<[UInt64]>([])
    let start = { @Sendable (number: UInt64, network: Int) -> Task<Void, any Error> in
      Task {
        try await readers.read(for: SyncFixture.session(number).user, from: network) { _ in
          order.withLock { $0.append(number) }
          gate.pass()
        }
      }
    }
    var tasks = [start(1, 1)]
    await eventually { order.withLock { $0 } == [1] }
    for number in UInt64(2)...9 { tasks.append(start(number, 1)) }
    await eventually { readers.networks.waitingCount == 8 }
    tasks.append(start(10, 2))
    await eventually { order.withLock { $0 } == [1, 10] }
    gate.open()
    for task in tasks { try await task.value }
  }
}
