import LockstepReactor

/// A table view that applies batch updates as UIKit does, and throws a `Trap` where UIKit would end the app.
///
/// In `performBatchUpdates`, UIKit reads deletions and sources of moves as indices before the update. It reads
/// insertions and targets of moves as indices after the update. It ends the app if an index is out of range or is used
/// twice, or if the number of rows afterwards is not the number before, plus insertions, minus deletions.
public struct StrictTableView<Element: Identifiable & Equatable & Sendable>: Sendable where Element.ID: Sendable {
  /// Why UIKit would end the app.
  public struct Trap: Error, Equatable, CustomStringConvertible {
    /// The reason, such as a row that does not exist.
    public let description: String
  }

  /// The rows as the view shows them.
  public private(set) var rows: [Element]

  /// A view with rows.
  public init(rows: [Element] = []) {
    self.rows = rows
  }

  /// Performs a batch update as `performBatchUpdates` of UIKit does, then reconfigures the modified rows. `updates` is
  /// the block of the updates, in which the data source changes, and `dataSource` returns the elements of the data
  /// source.
  ///
  /// If a layout is pending, UIKit lays the view out before it calls the block, and counts the rows of the data source.
  /// If the data source has changed before the block, the deletions and insertions then do not fit that number, and
  /// UIKit ends the app. This view expects such a layout each time.
  public mutating func performBatchUpdates(
    _ changeset: ListChangeset<Element>,
    dataSource: () -> [Element],
    updates: () -> Void
  ) throws(Trap) {
    guard dataSource() == rows else {
      throw Trap(description: "The data source has changed before the block of the updates.")
    }
    updates()
    try apply(changeset, leadingTo: dataSource())
  }

  /// Performs a batch update after which the data source has `new`, then reconfigures the modified rows.
  public mutating func apply(_ changeset: ListChangeset<Element>, leadingTo new: [Element]) throws(Trap) {
    let old = rows
    let sources = changeset.deletions.map(\.index) + changeset.moves.map(\.from)
    let targets = changeset.insertions.map(\.index) + changeset.moves.map(\.to)
    try Self.check(sources, in: old.count, "before the update")
    try Self.check(targets, in: new.count, "after the update")
    guard old.count + changeset.insertions.count - changeset.deletions.count == new.count else {
      throw Trap(
        description: "The number of rows after the update (\(new.count)) must be the number before it (\(old.count)), "
          + "plus insertions (\(changeset.insertions.count)), minus deletions (\(changeset.deletions.count))."
      )
    }
    let gone = Set(sources)
    var staying = old.indices.filter { !gone.contains($0) }.map { old[$0] }[...]
    var moved: [Int: Element] = [:]
    for move in changeset.moves { moved[move.to] = old[move.from] }
    let inserted = Set(changeset.insertions.map(\.index))
    // The view gets inserted rows from the data source, and keeps its own for all others.
    rows = new.indices.map { index in
      if inserted.contains(index) { return new[index] }
      return moved[index] ?? staying.removeFirst()
    }
    try Self.check(changeset.modifications.map(\.newIndex), in: new.count, "of reconfigured rows")
    for modification in changeset.modifications { rows[modification.newIndex] = new[modification.newIndex] }
    if let wrong = new.indices.first(where: { rows[$0] != new[$0] }) {
      throw Trap(description: "The row \(wrong) does not show the element \(new[wrong].id) of the data source.")
    }
  }

  /// Moves a row as a table view does by itself when the user drops it.
  public mutating func moveRow(from row: Int, to index: Int) {
    let element = rows.remove(at: row)
    rows.insert(element, at: index)
  }

  private static func check(_ indices: [Int], in count: Int, _ what: String) throws(Trap) {
    var seen: Set<Int> = []
    for index in indices {
      if !(0..<count).contains(index) { throw Trap(description: "There is no row \(index) \(what), only \(count).") }
      if !seen.insert(index).inserted { throw Trap(description: "The row \(index) \(what) is used twice.") }
    }
  }
}
