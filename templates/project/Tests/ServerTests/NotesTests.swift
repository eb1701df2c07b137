import Lockstep
import Testing

@testable import Server

@Suite("Notes", .timeLimit(.minutes(1)))
struct NotesTests {
  @Test("A note with a text is accepted, and one without is refused")
  func deciding() throws {
    let milk = Note(id: "a", text: "Milk")
    #expect(try Notes().decide(.insert(milk, at: 0), List()) == [.insert(milk, at: 0)])
    #expect(throws: Refusal.invalid("/text", "A note needs a text.")) {
      try Notes().decide(.replace(Note(id: "a", text: "  ")), List([milk]))
    }
  }

  @Test("A client adds, changes, moves and removes notes")
  func changing() throws {
    let ada = InMemoryUser([.list(Notes())], now: { Timestamp(millisecondsSince1970: 1_000) })
    try ada.change("notes", "add", ["id": "a", "text": "Milk"])
    try ada.change("notes", "add", ["id": "b", "text": "Bread", "index": 0])
    try ada.change("notes", "update", ["id": "a", "isDone": true])
    try ada.change("notes", "move", ["id": "b", "index": 1])
    let now = Timestamp(millisecondsSince1970: 1_000)
    let milk = Note(id: "a", text: "Milk", isDone: true, createdAt: now)
    #expect(ada.screenUser.state.list(Notes.self) == List([milk, Note(id: "b", text: "Bread", createdAt: now)]))
    try ada.change("notes", "remove", ["id": "b"])
    #expect(ada.screenUser.state.list(Notes.self) == List([milk]))
  }

  @Test("The server refuses a note that breaks a rule")
  func rules() {
    let fault = FieldFault(pointer: "/text", detail: "It must have 1 to 10000 bytes, and has 0.")
    #expect(throws: StateChangeError.refused(.invalid([fault]))) {
      try InMemoryUser([.list(Notes())]).change("notes", "add", ["id": "a", "text": ""])
    }
  }
}
