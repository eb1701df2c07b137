import Foundation
import Synchronization
import Testing

@testable import Workers

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

  @Test("A thread that can't be started says which and why")
  func errorText() {
    #expect(
      NamedThread.NotStarted(name: "hash-1", code: EAGAIN).description
        == "cannot start the thread hash-1: Resource temporarily unavailable (pthread_create, errno 11)"
    )
  }
}
