import LockstepTestSupport
import Synchronization
import Testing

@testable import LockstepCollections
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

  /// `#expect` cannot take a watch, because a watch cannot be copied.
  private func expect(
    _ watch: borrowing RevisionWatch,
    in cache: StateCache,
    holds: Bool,
    _ place: SourceLocation = #_sourceLocation
  ) {
    let isUnchanged = watch.holds(for: ann, in: cache)
    #expect(isUnchanged == holds, sourceLocation: place)
  }

  @Test("While the state is in memory, only a change of the user's own state ends a watch")
  func change() throws {
    let cache = try SyncFixture().cache
    let bob = try other(in: cache)
    cache.publish(Self.state(1), of: ann)
    let watch = cache.watch(ann, at: 1)
    expect(watch, in: cache, holds: true)
    for number in 1...3 {
      cache.publish(Self.state(number), of: bob)
      expect(watch, in: cache, holds: true)
    }
    cache.publish(Self.state(2), of: ann)
    expect(watch, in: cache, holds: false)
    expect(watch, in: cache, holds: false)
    expect(cache.watch(ann, at: 2), in: cache, holds: true)
    // A watch may begin after the change.
    expect(cache.watch(ann, at: 1), in: cache, holds: false)
    let last = cache.watch(ann, at: 2)
    expect(last, in: cache, holds: true)
    cache.forget(ann)
    expect(last, in: cache, holds: false)
  }

  @Test("Eviction does not end a watch; after it, a change of any user who shares the count does")
  func eviction() throws {
    let cache = try SyncFixture { $0.cacheBytes = 1 }.cache
    let bob = try other(in: cache)
    cache.publish(Self.state(1), of: ann)
    let watch = cache.watch(ann, at: 1)
    expect(watch, in: cache, holds: true)
    // A user with another count.
    let others = (2...).lazy.map { SyncFixture.session($0).user }.filter {
      cache.changeCount(of: $0) !== cache.changeCount(of: ann)
    }
    for other in others.prefix(3) { cache.publish(Self.state(1), of: other) }
    #expect(cache.state(of: ann) == nil)
    expect(watch, in: cache, holds: true)
    cache.publish(Self.state(2), of: ann)
    expect(watch, in: cache, holds: false)
    let next = cache.watch(ann, at: 2)
    expect(next, in: cache, holds: true)
    // Without the state in memory, a changed count says nothing about the user.
    for other in others.prefix(3) { cache.publish(Self.state(1), of: other) }
    cache.publish(Self.state(1), of: bob)
    expect(next, in: cache, holds: false)
  }

  @Test("After a thread has seen a newer state, no watch of an earlier revision holds")
  func race() async throws {
    let cache = try SyncFixture().cache
    cache.publish(Self.state(1), of: ann)
    let stale = Atomic(0)
    async let reader: Void = aside {
      var watch = cache.watch(ann, at: 1)
      var revision = 1
      while revision < 5_000 {
        let before = cache.revision(of: ann)?.number ?? 0
        if watch.holds(for: ann, in: cache) {
          if revision < before { stale.add(1, ordering: .relaxed) }
        } else {
          revision = cache.revision(of: ann)?.number ?? revision
          watch = cache.watch(ann, at: Revision(number: revision))
        }
      }
    }
    for number in 2...5_000 { cache.publish(Self.state(number), of: ann) }
    await reader
    #expect(stale.load(ordering: .relaxed) == 0)
  }
}
