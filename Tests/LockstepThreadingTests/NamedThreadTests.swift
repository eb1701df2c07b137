import Foundation
import Synchronization
import Testing

@testable import LockstepThreading

@Suite("Named threads")
struct NamedThreadTests {
  /// What a thread wrote down.
  private final class Note: Sendable {
    let text = Mutex<String?>(nil)
  }

  @Test(
    "A thread bears its name, the first 15 bytes of it",
    arguments: [("hash-1", "hash-1"), ("a-very-long-name-1", "a-very-long-nam")]
  )
  func names(given: String, seen: String) throws {
    let note = Note()
    let thread = try NamedThread(name: given) {
      let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
      note.text.withLock { $0 = name }
    }
    thread.join()
    #expect(note.text.withLock { $0 } == seen + "\n")
  }

  @Test(
    "Room for threads is found by having as many at once; where one can't be started, those before it end",
    arguments: 0...4
  )
  func room(count: Int) throws {
    let ended = LockedState(0)
    var started = 0
    func expectRoom() throws {
      try NamedThread.expectRoom(for: count) { (name, body) throws(NamedThread.NotStarted) in
        #expect(ended.withLock { $0 } == 0)
        if started == 3 { throw NamedThread.NotStarted(name: name, code: EAGAIN) }
        started += 1
        return try NamedThread(name: name) {
          body()
          ended.withLock { $0 += 1 }
        }
      }
    }
    if count <= 3 {
      try expectRoom()
    } else {
      #expect(throws: NamedThread.NotStarted(name: "room-4", code: EAGAIN)) { try expectRoom() }
    }
    #expect(started == min(count, 3))
    #expect(ended.withLock { $0 } == started)
  }

  @Test("A thread that can't be started says which and why")
  func errorText() {
    #expect(
      NamedThread.NotStarted(name: "hash-1", code: EAGAIN).description
        == "cannot start the thread hash-1: Resource temporarily unavailable (pthread_create, errno 11)"
    )
  }
}
