import Foundation
import Glibc
import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepCollections
@testable import LockstepStore

@Suite("The lock file of a store", .timeLimit(.minutes(10)))
struct StoreLockTests {
  private let folder: TemporaryDirectory
  private let store: String

  init() throws {
    folder = try TemporaryDirectory()
    store = folder.file("lockstep.db")
  }

  @Test("Only one process can hold the lock; when it is released, its file is removed and it can be taken again")
  func exclusive() throws {
    do {
      let lock = try StoreLock(store: store)
      #expect(throws: StoreError.inUse(path: store)) { try StoreLock(store: store) }
      withExtendedLifetime(lock) {}
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    _ = try StoreLock(store: store)
  }

  @Test("A process with patience gets the lock if it is released in time, and is refused otherwise")
  func patience() throws {
    var lock: StoreLock? = try StoreLock(store: store)
    var waited = Duration.zero
    #expect(throws: StoreError.inUse(path: store)) {
      try StoreLock.take(store: store, patience: .seconds(1)) { waited += $0 }
    }
    #expect(waited == .seconds(1))
    _ = try StoreLock.take(store: store, patience: .seconds(1)) { _ in lock = nil }
    #expect(lock == nil)
  }

  @Test("The lock file of a killed server does not block the next one")
  func leftBehind() throws {
    try folder.write([], to: "lockstep.db-lock")
    _ = try StoreLock(store: store)
  }

  @Test("The lock is never taken through a link, and no file is made elsewhere")
  func link() throws {
    let other = folder.file("other")
    #expect(symlink(other, store + "-lock") == 0)
    #expect(throws: StoreError.cannotLock(path: store + "-lock", reason: ELOOP)) { try StoreLock(store: store) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["lockstep.db-lock"])
  }

  @Test("If the lock is taken while its file is removed by another process, no two processes hold it")
  func race() async throws {
    let holders = LockedState((now: 0, most: 0, taken: 0))
    let store = store
    await withTaskGroup(of: Void.self) { group in
      for _ in 1...4 {
        group.addTask {
          await aside {
            for _ in 1...2_000 {
              guard let lock = try? StoreLock(store: store) else { continue }
              holders.withLock { holders in
                holders.now += 1
                holders.most = max(holders.most, holders.now)
                holders.taken += 1
              }
              sched_yield()
              holders.withLock { $0.now -= 1 }
              withExtendedLifetime(lock) {}
            }
          }
        }
      }
    }
    #expect(holders.withLock { $0.most } == 1)
    #expect(holders.withLock { $0.taken } > 0)
  }
}
