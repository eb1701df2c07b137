import LockstepReactor
import Testing

struct Item: Identifiable, Equatable, Sendable, CustomStringConvertible {
  let id: String
  var version = 0
  var description: String { version == 0 ? id : "\(id)\(version)" }
}

/// Makes items from text: "a b c2" gives the items a, b and c, the last one in version 2.
func items(_ text: String) -> [Item] {
  text.split(separator: " ").map { word in
    Item(id: String(word.prefix(1)), version: Int(word.dropFirst()) ?? 0)
  }
}

typealias ItemChangeset = ListChangeset<Item>

@Suite("List changesets", .timeLimit(.minutes(10)))
struct ListChangesetTests {
  @Test("Equal lists have an empty changeset")
  func equal() throws {
    #expect(try ItemChangeset(from: items("a b c"), to: items("a b c")).isEmpty)
    #expect(try ItemChangeset(from: [], to: []).isEmpty)
  }

  @Test("Deletions have old indices, and insertions have new ones")
  func deletionsAndInsertions() throws {
    let changes = try ItemChangeset(from: items("a b c d"), to: items("x b y d z"))
    #expect(
      changes
        == ItemChangeset(
          deletions: [.init(index: 0, id: "a"), .init(index: 2, id: "c")],
          insertions: [
            .init(index: 0, element: Item(id: "x")), .init(index: 2, element: Item(id: "y")),
            .init(index: 4, element: Item(id: "z")),
          ]
        )
    )
  }

  @Test("An element that goes from the front to the back is one move, and the shifted elements are none")
  func fewestMoves() throws {
    let old = items("a b c d e f")
    #expect(
      try ItemChangeset(from: old, to: items("b c d e f a"))
        == ItemChangeset(moves: [.init(from: 0, to: 5, id: "a")])
    )
    #expect(
      try ItemChangeset(from: old, to: items("f a b c d e"))
        == ItemChangeset(moves: [.init(from: 5, to: 0, id: "f")])
    )
  }

  @Test("Sources of moves are old indices, also next to deletions")
  func movesBesideDeletions() throws {
    #expect(
      try ItemChangeset(from: items("x a b c d"), to: items("d a b c y"))
        == ItemChangeset(
          deletions: [.init(index: 0, id: "x")],
          insertions: [.init(index: 4, element: Item(id: "y"))],
          moves: [.init(from: 4, to: 0, id: "d")]
        )
    )
  }

  @Test("A modification has both indices, and a shifted element is not a move")
  func modification() throws {
    #expect(
      try ItemChangeset(from: items("x a b"), to: items("a b2"))
        == ItemChangeset(
          deletions: [.init(index: 0, id: "x")],
          modifications: [.init(index: 2, newIndex: 1, element: Item(id: "b", version: 2))]
        )
    )
  }

  @Test("An element that moved and changed is both a move and a modification")
  func movedAndModified() throws {
    #expect(
      try ItemChangeset(from: items("a b c"), to: items("b c a2"))
        == ItemChangeset(
          moves: [.init(from: 0, to: 2, id: "a")],
          modifications: [.init(index: 0, newIndex: 2, element: Item(id: "a", version: 2))]
        )
    )
  }

  @Test("Every array is in ascending order")
  func ascending() throws {
    let changes = try ItemChangeset(from: items("a b c d e f g h"), to: items("h2 g2 f2 x e y"))
    #expect(changes.deletions.map(\.index) == [0, 1, 2, 3])
    #expect(changes.insertions.map(\.index) == [3, 5])
    #expect(changes.moves.map(\.from) == changes.moves.map(\.from).sorted())
    #expect(changes.modifications.map(\.index) == [5, 6, 7])
  }

  @Test("A composition has no element that was added and removed again, and no change that was undone")
  func composition() throws {
    let a = items("a b c")
    let b = items("b1 x a c")
    let first = try ItemChangeset(from: a, to: b)
    let second = try ItemChangeset(from: b, to: a)
    #expect(try first.followed(by: second, from: a).isEmpty)
    let onward = try ItemChangeset(from: b, to: items("b1 a c"))
    #expect(
      try first.followed(by: onward, from: a) == ItemChangeset(from: a, to: items("b1 a c"))
    )
  }

  @Test("A repeated id is refused with an error that gives the indices")
  func duplicates() {
    #expect(throws: DuplicateIdentityError(id: "a", list: .old, indices: [0, 2])) {
      try ItemChangeset(from: items("a b a"), to: items("a b"))
    }
    #expect(throws: DuplicateIdentityError(id: "b", list: .new, indices: [1, 3])) {
      try ItemChangeset(from: items("a b c"), to: items("a b c b"))
    }
    #expect(throws: DuplicateIdentityError(id: "x", list: .new, indices: [0, 1])) {
      try ItemChangeset(from: [], to: items("x x"))
    }
    #expect(
      DuplicateIdentityError(id: "x", list: .new, indices: [0, 1]).description
        == "The new list has the id x twice, at indices 0 and 1. Give every element its own id."
    )
  }

  @Test(
    "A changeset that does not fit a list is refused and never crashes",
    arguments: [
      (ItemChangeset(deletions: [.init(index: 3, id: "a")]), ChangesetMismatchError(part: .deletion, index: 3)),
      (ItemChangeset(deletions: [.init(index: -1, id: "a")]), ChangesetMismatchError(part: .deletion, index: -1)),
      (ItemChangeset(deletions: [.init(index: 0, id: "b")]), ChangesetMismatchError(part: .deletion, index: 0)),
      (
        ItemChangeset(deletions: [.init(index: 0, id: "a"), .init(index: 0, id: "a")]),
        ChangesetMismatchError(part: .deletion, index: 0)
      ),
      (ItemChangeset(moves: [.init(from: 7, to: 0, id: "a")]), ChangesetMismatchError(part: .move, index: 7)),
      (ItemChangeset(moves: [.init(from: 0, to: 9, id: "a")]), ChangesetMismatchError(part: .move, index: 9)),
      (
        ItemChangeset(insertions: [.init(index: 5, element: Item(id: "x"))]),
        ChangesetMismatchError(part: .insertion, index: 5)
      ),
      (
        ItemChangeset(insertions: [.init(index: -5, element: Item(id: "x"))]),
        ChangesetMismatchError(part: .insertion, index: -5)
      ),
      (
        ItemChangeset(insertions: [.init(index: 0, element: Item(id: "b"))]),
        ChangesetMismatchError(part: .insertion, index: 0)
      ),
      (
        ItemChangeset(
          insertions: [.init(index: 0, element: Item(id: "a"))],
          moves: [.init(from: 0, to: 3, id: "a")]
        ),
        ChangesetMismatchError(part: .insertion, index: 0)
      ),
      (
        ItemChangeset(insertions: [.init(index: 0, element: Item(id: "x")), .init(index: 4, element: Item(id: "x"))]),
        ChangesetMismatchError(part: .insertion, index: 4)
      ),
      (
        ItemChangeset(modifications: [.init(index: 0, newIndex: 1, element: Item(id: "a"))]),
        ChangesetMismatchError(part: .modification, index: 0)
      ),
      (
        ItemChangeset(modifications: [.init(index: 1, newIndex: 0, element: Item(id: "a"))]),
        ChangesetMismatchError(part: .modification, index: 1)
      ),
      (
        ItemChangeset(modifications: [.init(index: 9, newIndex: 0, element: Item(id: "a"))]),
        ChangesetMismatchError(part: .modification, index: 9)
      ),
      (
        ItemChangeset(modifications: [.init(index: 0, newIndex: -1, element: Item(id: "a"))]),
        ChangesetMismatchError(part: .modification, index: 0)
      ),
      (
        ItemChangeset(modifications: [
          .init(index: 0, newIndex: 0, element: Item(id: "a", version: 1)),
          .init(index: 0, newIndex: 0, element: Item(id: "a", version: 2)),
        ]),
        ChangesetMismatchError(part: .modification, index: 0)
      ),
    ]
  )
  func mismatch(changes: ItemChangeset, error: ChangesetMismatchError) {
    #expect(throws: error) { try changes.apply(to: items("a b c")) }
  }

  @Test("A deleted id may be inserted again, in another place and version")
  func replacement() throws {
    let changes = ItemChangeset(
      deletions: [.init(index: 0, id: "a")],
      insertions: [.init(index: 2, element: Item(id: "a", version: 1))]
    )
    #expect(try changes.apply(to: items("a b c")) == items("b c a1"))
  }

  @Test("The error of a mismatch says what to do")
  func mismatchText() {
    #expect(
      ChangesetMismatchError(part: .move, index: 7).description
        == "The move at index 7 does not fit the list. "
        + "The changeset belongs to another state: load the whole list again."
    )
  }
}
