import Foundation
import Synchronization
import Testing

@testable import LockstepThreading

@Suite("Named threads", .timeLimit(.minutes(10)))
struct NamedThreadTests {
  /// A value that a thread sets.
  private final class Note: Sendable {
    let text = Mutex<String?>(nil)
  }

  @Test(
    "A thread has the first 15 bytes of its name",
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
    "The check for threads starts all of them; if one cannot start, the others end",
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

  @Test("The error of a thread that cannot start has its name and the reason")
  func errorText() {
    #expect(
      NamedThread.NotStarted(name: "hash-1", code: EAGAIN).description
        == "cannot start the thread hash-1: Resource temporarily unavailable (pthread_create, errno 11)"
    )
  }
}
