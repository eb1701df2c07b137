import LockstepStore
import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("Watching the revision of a user's state", .timeLimit(.minutes(10)))
struct RevisionWatchTests {
  private static func state(_ number: Int) -> UserState {
    var state = UserState()
    state.revision = Revision(number: number)
    return state
  }

  private let ann = SyncFixture.session(1).user

  /// A user who shares Ann's count.
  private func other(in cache: StateCache) throws -> UserID {
    let count = cache.changeCount(of: ann)
    return try #require(
      (2...).lazy.map { SyncFixture.session($0).user }.first { cache.changeCount(of: $0) === count }
    )
  }

  /// A watch of Ann's state with her session, or with the given one.
  private func watch(_ revision: Revision, in cache: StateCache, _ session: LiveSession? = nil) throws -> RevisionWatch
  {
    // `#require` cannot take a watch, because a watch cannot be copied.
    guard let watch = cache.watch(session ?? self.session(in: cache), at: revision) else { throw NoWatch() }
    return watch
  }

  private struct NoWatch: Error {}

  private func session(in cache: StateCache) -> LiveSession {
    let id = SyncFixture.session(1).id
    return LiveSession(id: id, user: ann, tokenHash: TokenHash(words: .zero), changes: cache.changeCount(of: ann))
  }

  /// `#expect` cannot take a watch, because a watch cannot be copied.
  private func expect(
    _ watch: borrowing RevisionWatch,
    in cache: StateCache,
    holds: Bool,
    _ place: SourceLocation = #_sourceLocation
  ) {
    let isUnchanged = watch.holds(in: cache)
    #expect(isUnchanged == holds, sourceLocation: place)
  }

  @Test("While the state is in memory, only a change of the user's own state ends a watch")
  func change() throws {
    let cache = try SyncFixture().cache
    let bob = try other(in: cache)
    cache.publish(Self.state(1), of: ann)
    let first = try watch(1, in: cache)
    expect(first, in: cache, holds: true)
    for number in 1...3 {
      cache.publish(Self.state(number), of: bob)
      expect(first, in: cache, holds: true)
    }
    cache.publish(Self.state(2), of: ann)
    expect(first, in: cache, holds: false)
    expect(first, in: cache, holds: false)
    expect(try watch(2, in: cache), in: cache, holds: true)
    // A watch may begin after the change.
    expect(try watch(1, in: cache), in: cache, holds: false)
    let last = try watch(2, in: cache)
    expect(last, in: cache, holds: true)
    cache.forget(ann)
    expect(last, in: cache, holds: false)
  }

  @Test("The end of the session ends a watch, and the end of another session does not")
  func end() throws {
    let cache = try SyncFixture().cache
    let (ended, other) = (session(in: cache), session(in: cache))
    cache.publish(Self.state(1), of: ann)
    let first = try watch(1, in: cache, ended)
    let second = try watch(1, in: cache, other)
    expect(first, in: cache, holds: true)
    expect(second, in: cache, holds: true)
    ended.end()
    expect(first, in: cache, holds: false)
    expect(second, in: cache, holds: true)
    expect(try watch(1, in: cache, ended), in: cache, holds: false)
  }

  @Test("There is no watch of a session whose end is counted elsewhere")
  func elsewhere() throws {
    let cache = try SyncFixture().cache
    let isWatched = cache.watch(SyncFixture.session(1), at: 1) != nil
    #expect(!isWatched)
  }

  @Test("Eviction does not end a watch; after it, a change of any user who shares the count does")
  func eviction() throws {
    let cache = try SyncFixture { $0.cacheBytes = 1 }.cache
    let bob = try other(in: cache)
    cache.publish(Self.state(1), of: ann)
    let first = try watch(1, in: cache)
    expect(first, in: cache, holds: true)
    // A user with another count.
    let others = (2...).lazy.map { SyncFixture.session($0).user }.filter {
      cache.changeCount(of: $0) !== cache.changeCount(of: ann)
    }
    for other in others.prefix(3) { cache.publish(Self.state(1), of: other) }
    #expect(cache.state(of: ann) == nil)
    expect(first, in: cache, holds: true)
    cache.publish(Self.state(2), of: ann)
    expect(first, in: cache, holds: false)
    let next = try watch(2, in: cache)
    expect(next, in: cache, holds: true)
    // Without the state in memory, a changed count says nothing about the user.
    for other in others.prefix(3) { cache.publish(Self.state(1), of: other) }
    cache.publish(Self.state(1), of: bob)
    expect(next, in: cache, holds: false)
  }

  @Test("A load of a state that is on disk and not published yet ends the watches of earlier states")
  func loaded() async throws {
    let files = try StoreFixture()
    let store = try files.testedStore()
    defer { store.close() }
    let cache = StateCache(capacity: 1, readers: UserReaders(store.readers, threads: 1)) { _, _ in Self.state(2) }
    cache.publish(Self.state(1), of: ann)
    let first = try watch(1, in: cache)
    expect(first, in: cache, holds: true)
    // Users with other counts evict Ann.
    let others = (2...).lazy.map { SyncFixture.session($0).user }.filter {
      cache.changeCount(of: $0) !== cache.changeCount(of: ann)
    }
    for other in others.prefix(3) { cache.publish(Self.state(1), of: other) }
    try #require(cache.state(of: ann) == nil)
    #expect(try await cache.load(ann).state.revision == 2)
    #expect(cache.revision(of: ann) == 2)
    expect(first, in: cache, holds: false)
  }

  @Test("After a thread has seen a newer state, no watch of an earlier revision holds")
  func race() async throws {
    let cache = try SyncFixture().cache
    cache.publish(Self.state(1), of: ann)
    let stale = Atomic(0)
    async let reader: Void = aside {
      let session = session(in: cache)
      var watch = cache.watch(session, at: 1)
      var revision = 1
      while revision < 5_000 {
        let before = cache.revision(of: ann)?.number ?? 0
        if let holds = watch?.holds(in: cache), holds {
          if revision < before { stale.add(1, ordering: .relaxed) }
        } else {
          revision = cache.revision(of: ann)?.number ?? revision
          watch = cache.watch(session, at: Revision(number: revision))
        }
      }
    }
    for number in 2...5_000 { cache.publish(Self.state(number), of: ann) }
    await reader
    #expect(stale.load(ordering: .relaxed) == 0)
  }
}
