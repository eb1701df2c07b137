import Lockstep
import Testing

@testable import Server

@Suite("Notes", .timeLimit(.minutes(1)))
struct NotesTests {
  private static let now = Timestamp(millisecondsSince1970: 1_000)
  private let reactor = NotesReactor(now: Self.now)

  private static func add(_ id: String, _ text: String, isDone: Bool? = nil, at index: Int? = nil) -> NotesAction {
    .add(id: id, text: text, isDone: isDone, index: index)
  }

  @Test("A new note is added at the index or at the end, and the same note again changes nothing")
  func adding() throws {
    var notes = ListState()
    _ = try reactor.perform(Self.add("a", "Milk"), on: &notes)
    let note = Note(id: "b", text: "Bread", createdAt: Self.now)
    #expect(try reactor.perform(Self.add("b", "Bread"), on: &notes) == [.inserting(note, at: 1)])
    #expect(try reactor.mutate(Self.add("b", "Bread"), in: notes) == [])
    let first = Note(id: "c", text: "Cocoa", isDone: true, createdAt: Self.now)
    #expect(try reactor.perform(Self.add("c", "Cocoa", isDone: true, at: 0), on: &notes) == [.inserting(first, at: 0)])
    let last = Note(id: "d", text: "Dill", createdAt: Self.now)
    #expect(try reactor.perform(Self.add("d", "Dill", at: 9), on: &notes) == [.inserting(last, at: 3)])
  }

  @Test("If the list has a note with the id, add replaces the note at its place")
  func replacing() throws {
    var notes = ListState()
    for id in ["a", "b"] { _ = try reactor.perform(Self.add(id, id, isDone: true), on: &notes) }
    let later = NotesReactor(now: Timestamp(millisecondsSince1970: 5_000))
    let note = Note(id: "a", text: "Milk", createdAt: Self.now)
    #expect(try later.perform(Self.add("a", "Milk", at: 1), on: &notes) == [.replacing(note)])
  }

  @Test("A note can be changed, moved and removed")
  func changing() throws {
    var notes = ListState()
    for id in ["a", "b"] { _ = try reactor.perform(Self.add(id, id), on: &notes) }
    _ = try reactor.perform(.update(id: "a", text: nil, isDone: true), on: &notes)
    _ = try reactor.perform(.move(id: "a", index: 9), on: &notes)
    #expect(notes.elements(as: Note.self).map(\.id) == ["b", "a"])
    #expect(notes.element("a", as: Note.self)?.isDone == true)
    #expect(try reactor.perform(.remove(id: "a"), on: &notes) == [.removed(id: "a")])
  }

  @Test("A note that does not exist cannot be changed")
  func missing() {
    #expect(throws: Refusal.notFound("No note has the id “a”.")) {
      try reactor.mutate(.update(id: "a", text: "Milk", isDone: nil), in: ListState())
    }
  }

  @Test("A note is the same after it was written and read")
  func coding() throws {
    let note = Note(id: "a", text: "Milk", isDone: true, createdAt: Self.now)
    #expect(Note(try #require(Note.format.encode(note).objectValue)) == note)
  }
}
