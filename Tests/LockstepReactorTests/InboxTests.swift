import LockstepReactorTesting
import Testing

@testable import LockstepReactor

@Suite("Inbox", .timeLimit(.minutes(10)))
struct InboxTests {
  @Test("Sending appends to the queue in place: the array is copied when it grows, not at each action")
  func noCopies() {
    let host = ReactorHost(Setting(), capacity: 10_000)
    var places: [UInt] = []
    for number in 1...1_000 {
      host.send(number)
      places.append(
        host.inbox.contents.withState { $0.inputs.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
      )
    }
    let moves = zip(places, places.dropFirst()).filter { $0 != $1 }.count
    #expect(moves < 20)
  }
}
