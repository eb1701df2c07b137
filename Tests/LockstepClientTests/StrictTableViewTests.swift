import LockstepClientTesting
import LockstepReactor
import Testing

/// A batch update, written as UIKit's calls.
private struct BatchUpdate: Sendable, CustomTestStringConvertible {
  let name: String
  var old = ["a", "b", "c"]
  var new = ["a", "b", "c"]
  var deletions: [Int] = []
  var insertions: [Int] = []
  var moves: [(from: Int, to: Int)] = []
  /// Rows that are reconfigured afterwards.
  var modifications: [Int] = []
  /// A part of UIKit's reason; nil if UIKit accepts the update.
  var trap: String?

  var testDescription: String { name }

  func apply() throws(StrictTableView<Row>.Trap) -> [String] {
    var table = StrictTableView(rows: old.map { Row(id: $0) })
    let rows = new.map { Row(id: $0) }
    func row(_ index: Int) -> Row { rows.indices.contains(index) ? rows[index] : Row(id: "none") }
    let changeset = ListChangeset(
      deletions: deletions.map { .init(index: $0, id: "") },
      insertions: insertions.map { .init(index: $0, element: row($0)) },
      moves: moves.map { .init(from: $0.from, to: $0.to, id: "") },
      modifications: modifications.map { .init(index: $0, newIndex: $0, element: row($0)) }
    )
    try table.apply(changeset, leadingTo: rows)
    return table.rows.map(\.id)
  }
}

private struct Row: Identifiable, Equatable, Sendable {
  let id: String
}

@Suite("A strict table view", .timeLimit(.minutes(10)))
struct StrictTableViewTests {
  private static let accepted = [
    BatchUpdate(name: "nothing"),
    BatchUpdate(name: "a deletion", new: ["a", "c"], deletions: [1]),
    BatchUpdate(name: "deletions in any order", new: ["b"], deletions: [2, 0]),
    BatchUpdate(name: "all rows", new: [], deletions: [0, 1, 2]),
    BatchUpdate(name: "an insertion at the end", new: ["a", "b", "c", "d"], insertions: [3]),
    BatchUpdate(name: "insertions in any order", new: ["d", "a", "e", "b", "c"], insertions: [2, 0]),
    BatchUpdate(name: "into an empty table", old: [], new: ["a", "b"], insertions: [1, 0]),
    BatchUpdate(
      name: "a deletion and an insertion at the same index",
      new: ["a", "d", "c"],
      deletions: [1],
      insertions: [1]
    ),
    BatchUpdate(name: "a move down", new: ["b", "c", "a"], moves: [(0, 2)]),
    BatchUpdate(name: "two rows that change places", new: ["c", "b", "a"], moves: [(0, 2), (2, 0)]),
    BatchUpdate(name: "a move to its own index", new: ["a", "b", "c"], moves: [(1, 1)]),
    BatchUpdate(
      name: "a move of which the target counts after a deletion",
      new: ["c", "a"],
      deletions: [1],
      moves: [(0, 1)]
    ),
    BatchUpdate(
      name: "everything",
      old: ["a", "b", "c", "d"],
      new: ["d", "x", "a", "y"],
      deletions: [1, 2],
      insertions: [1, 3],
      moves: [(3, 0)],
      modifications: [2, 0]
    ),
    BatchUpdate(name: "a row that is reconfigured", modifications: [2]),
  ]

  private static let refused = [
    BatchUpdate(name: "count: a row is missing afterwards", new: ["a", "b"], trap: "number of rows"),
    BatchUpdate(name: "count: a row too many afterwards", new: ["a", "b", "c", "d"], trap: "number of rows"),
    BatchUpdate(name: "count: a deletion too many", new: ["a", "b"], deletions: [1, 2], trap: "number of rows"),
    BatchUpdate(
      name: "count: an insertion too many",
      new: ["d", "a", "b", "c"],
      insertions: [0, 1],
      trap: "number of rows"
    ),
    BatchUpdate(
      name: "count: a move is no insertion",
      new: ["a", "b", "c", "a"],
      moves: [(0, 3)],
      trap: "number of rows"
    ),
    BatchUpdate(
      name: "range: the row after the last is deleted",
      new: ["a", "b"],
      deletions: [3],
      trap: "no row 3 before"
    ),
    BatchUpdate(
      name: "range: a row before the first is deleted",
      new: ["a", "b"],
      deletions: [-1],
      trap: "no row -1 before"
    ),
    BatchUpdate(
      name: "range: an index of the new list is deleted",
      old: ["a"],
      new: ["b", "c"],
      deletions: [1],
      insertions: [0, 1],
      trap: "no row 1 before"
    ),
    BatchUpdate(
      name: "range: an insertion counts after deletions",
      new: ["a", "d"],
      deletions: [1, 2],
      insertions: [2],
      trap: "no row 2 after"
    ),
    BatchUpdate(name: "range: an insertion into nothing", old: [], new: [], insertions: [0], trap: "no row 0 after"),
    BatchUpdate(name: "range: a move from behind the end", moves: [(3, 0)], trap: "no row 3 before"),
    BatchUpdate(name: "range: a move to behind the end", moves: [(0, 3)], trap: "no row 3 after"),
    BatchUpdate(
      name: "range: a row behind the end is reconfigured",
      modifications: [3],
      trap: "no row 3 of reconfigured"
    ),
    BatchUpdate(name: "twice: a row is deleted twice", new: ["a", "b"], deletions: [2, 2], trap: "row 2 before"),
    BatchUpdate(
      name: "twice: a row is deleted and moved",
      new: ["b", "c"],
      deletions: [0],
      moves: [(0, 1)],
      trap: "row 0 before"
    ),
    BatchUpdate(name: "twice: a row is moved twice", moves: [(0, 1), (0, 2)], trap: "row 0 before"),
    BatchUpdate(
      name: "twice: two insertions at an index",
      new: ["a", "b", "c", "d"],
      insertions: [3, 3],
      trap: "row 3 after"
    ),
    BatchUpdate(name: "twice: two moves to an index", moves: [(0, 2), (1, 2)], trap: "row 2 after"),
    BatchUpdate(
      name: "twice: an insertion and a move to an index",
      new: ["b", "c", "a", "d"],
      insertions: [2],
      moves: [(0, 2)],
      trap: "row 2 after"
    ),
    BatchUpdate(
      name: "order: the rows are in another order than the elements",
      new: ["b", "a", "c"],
      trap: "row 0 does not show"
    ),
    BatchUpdate(name: "order: the wrong row is deleted", new: ["a", "c"], deletions: [2], trap: "row 1 does not show"),
    BatchUpdate(
      name: "order: a move to the wrong index",
      new: ["b", "c", "a"],
      moves: [(0, 1)],
      trap: "row 1 does not show"
    ),
    BatchUpdate(
      name: "order: an insertion at the wrong index",
      new: ["a", "d", "b", "c"],
      insertions: [2],
      trap: "row 1 does not show"
    ),
    BatchUpdate(
      name: "order: a row gets another element without a change",
      new: ["a", "x", "c"],
      trap: "row 1 does not show"
    ),
  ]

  @Test("It accepts what UIKit accepts", arguments: accepted)
  fileprivate func accepting(update: BatchUpdate) throws {
    #expect(try update.apply() == update.new)
  }

  @Test("It traps where UIKit traps, or shows a wrong row", arguments: refused)
  fileprivate func trapping(update: BatchUpdate) {
    let trap = #expect(throws: StrictTableView<Row>.Trap.self) { try update.apply() }
    #expect(trap?.description.contains(update.trap ?? "-") == true, "\(trap?.description ?? "")")
  }

  @Test("It traps if the data source changes before the block of the updates, where a layout would count its rows")
  func layoutBeforeTheBlock() throws {
    let (old, new) = (["a", "b"].map { Row(id: $0) }, ["b"].map { Row(id: $0) })
    let deletion = ListChangeset<Row>(
      deletions: [.init(index: 0, id: "a")],
      insertions: [],
      moves: [],
      modifications: []
    )
    var (table, source) = (StrictTableView(rows: old), old)
    try table.performBatchUpdates(deletion, dataSource: { source }, updates: { source = new })
    #expect(table.rows == new)
    table = StrictTableView(rows: old)
    let trap = #expect(throws: StrictTableView<Row>.Trap.self) {
      try table.performBatchUpdates(deletion, dataSource: { source }, updates: { source = new })
    }
    #expect(trap?.description.contains("before the block") == true)
  }
}
