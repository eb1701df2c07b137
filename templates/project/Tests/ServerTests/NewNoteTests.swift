import Lockstep
import LockstepReactorTesting
import Testing

@testable import Server

@Suite("The screen that adds notes", .timeLimit(.minutes(1)))
struct NewNoteTests {
  /// A user whose changes take two seconds, in virtual time.
  private let clock = VirtualClock()
  private let ada: InMemoryUser
  private let test: TestReactor<NewNote>

  init() {
    ada = InMemoryUser([.list(Notes())], clock: clock, delay: .seconds(2))
    test = TestReactor(NewNote(user: ada.screenUser) { "new" }, clock: clock)
  }

  @Test("A save takes its time, adds the note, and empties the text")
  func saves() throws {
    test.send(.setText(" Milk ")) { $0.text = " Milk " }
    test.send(.save) { $0.isSaving = true }
    #expect(!test.state.saveEnabled)
    test.advance(by: .seconds(2))
    test.receive { state in
      (state.isSaving, state.text) = (false, "")
      state.saved = 1
    }
    #expect(ada.performed[0].payload == ["id": "new", "text": "Milk"])
    test.finish()
  }

  @Test(
    "Without a valid text, a save is refused, and the message says why",
    arguments: [
      ("  ", ValidationResult.empty(message: "Enter a note.")),
      (String(repeating: "x", count: 1_001), .failed(message: "A note has at most 1,000 characters.")),
    ]
  )
  func invalid(text: String, expected: ValidationResult) {
    test.send(.setText(text)) { $0.text = text }
    #expect(test.state.validation == expected)
    test.send(.save)
    test.receiveFailure("a conflict") { if case .conflict? = $0 as? Refusal { true } else { false } }
    test.finish()
  }
}
