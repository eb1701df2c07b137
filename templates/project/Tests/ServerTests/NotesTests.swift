import Lockstep
import Testing

@testable import Server

@Suite("Notes", .timeLimit(.minutes(1)))
struct NotesTests {
  private static let now = Timestamp(millisecondsSince1970: 1_000)
  private let reactor = NotesReactor(now: Self.now)

  @Test("A new note is added at the end, and the same note again changes nothing")
  func adding() throws {
    var notes = ListState()
    _ = try reactor.perform(.add(id: "a", text: "Milk", index: nil), on: &notes)
    let note = Note(id: "b", text: "Bread", createdAt: Self.now)
    #expect(try reactor.perform(.add(id: "b", text: "Bread", index: nil), on: &notes) == [.inserting(note, at: 1)])
    #expect(try reactor.mutate(.add(id: "b", text: "Bread", index: nil), in: notes) == [])
  }

  @Test("A note can be changed, moved and removed")
  func changing() throws {
    var notes = ListState()
    for id in ["a", "b"] { _ = try reactor.perform(.add(id: id, text: id, index: nil), on: &notes) }
    _ = try reactor.perform(.change(id: "a", text: nil, isDone: true), on: &notes)
    _ = try reactor.perform(.move(id: "a", index: 9), on: &notes)
    #expect(notes.elements(as: Note.self).map(\.id) == ["b", "a"])
    #expect(notes.element("a", as: Note.self)?.isDone == true)
    #expect(try reactor.perform(.remove(id: "a"), on: &notes) == [.removed(id: "a")])
  }

  @Test("A note that does not exist cannot be changed")
  func missing() {
    #expect(throws: Refusal.notFound("No note has the id “a”.")) {
      try reactor.mutate(.change(id: "a", text: "Milk", isDone: nil), in: ListState())
    }
  }

  @Test("A note is the same after it was written and read")
  func coding() throws {
    let note = Note(id: "a", text: "Milk", isDone: true, createdAt: Self.now)
    #expect(Note(try #require(Note.format.encode(note).objectValue)) == note)
  }
}
