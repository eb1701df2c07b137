import Foundation
import LockstepClient
import LockstepJSON
import LockstepReactor
import Synchronization

/// Hands the updates of a list to a view, one at a time, so that the view always shows `old` when it gets an update.
///
/// Table and collection views of UIKit need that. If the indices of an update belong to another list than the view
/// shows, UIKit ends the app. While the user drags a row, call `pause()`. If the view has moved a row by itself, call
/// `noteMove(from:to:)`.
public final class ListDriver<Element: Codable & Identifiable & Equatable & Sendable>: Sendable
where Element.ID == String {
  private struct Contents: Sendable {
    var shown: [Element] = []
    /// The update that the view is applying, from the moment at which `items` has become its new list.
    var applied: ListUpdate<Element>?
    /// Counts the updates for the view, so that a late `commit` of an earlier one does nothing.
    var updates = 0
    /// The view shows another list than `old` of the next update, because it has moved rows, or because `run` was
    /// called again.
    var hasOtherList = false
  }

  private let list: SyncedList<Element>
  private let contents = Mutex(Contents())
  private let isPaused = Latest(false)

  /// A driver of a list. It shows nothing before `run`.
  public init(_ list: SyncedList<Element>) { self.list = list }

  /// The elements that the view shows, for its data source.
  public var items: [Element] { contents.withLock { $0.shown } }

  /// The element with an id, for a diffable data source. While the view applies an update, the element may also be one
  /// that the update removes, because the view may still ask for it.
  public func element(_ id: String) -> Element? {
    contents.withLock { contents in
      contents.shown.first { $0.id.utf8.elementsEqual(id.utf8) }
        ?? contents.applied?.old.first { $0.id.utf8.elementsEqual(id.utf8) }
    }
  }

  /// Calls `apply` with each update, and waits until `apply` returns. Ends when the task is cancelled.
  ///
  /// `items` is the old list until `apply` calls `commit`, and the new list from then on. A view with batch updates
  /// must call it at the beginning of the block of the updates. Before the block, UIKit may count the rows once more,
  /// and must still find those that it shows. If `apply` does not call `commit`, `items` is the new list when `apply`
  /// has returned.
  ///
  ///     await driver.run { update, commit in
  ///       view.performBatchUpdates {
  ///         commit()
  ///         view.deleteRows(at: update.changeset.deletions.map { [0, $0.index] }, with: .automatic)
  ///         …
  ///       }
  ///     }
  public func run(
    isolation: isolated (any Actor)? = #isolation,
    _ apply: (_ update: ListUpdate<Element>, _ commit: @escaping @Sendable () -> Void) async -> Void
  ) async {
    contents.withLock { $0.hasOtherList = !$0.shown.isEmpty }
    for await update in list.updates {
      for await isPaused in isPaused.values where !isPaused { break }
      if Task.isCancelled { return }
      guard let (update, number) = forView(update) else { continue }
      await apply(update) { [self] in commit(update, number) }
      commit(update, number)
      // From now on, a commit with the number of this update does nothing.
      contents.withLock { contents in
        contents.applied = nil
        contents.updates += 1
      }
    }
  }

  /// The update for the view, and its number; nil if the view shows the new list already.
  private func forView(_ update: ListUpdate<Element>) -> (update: ListUpdate<Element>, number: Int)? {
    contents.withLock { contents in
      contents.updates += 1
      guard contents.hasOtherList else { return (update, contents.updates) }
      let old = contents.shown
      let changeset = (try? ListChangeset(from: old, to: update.new)) ?? Self.replacement(of: old, by: update.new)
      if changeset.isEmpty {
        (contents.shown, contents.hasOtherList) = (update.new, false)
        return nil
      }
      let own = ListUpdate(old: old, new: update.new, changeset: changeset, origin: update.origin)
      return (own, contents.updates)
    }
  }

  /// Makes `items` the new list of an update, once.
  private func commit(_ update: ListUpdate<Element>, _ number: Int) {
    contents.withLock { contents in
      guard contents.applied == nil, contents.updates == number else { return }
      (contents.shown, contents.applied, contents.hasOtherList) = (update.new, update, false)
    }
  }

  /// The changeset that replaces all rows, for lists in which ids are equal in Swift but differ for the server, such as
  /// two encodings of "é".
  private static func replacement(of old: [Element], by new: [Element]) -> ListChangeset<Element> {
    ListChangeset(
      deletions: old.enumerated().map { .init(index: $0, id: $1.id) },
      insertions: new.enumerated().map { .init(index: $0, element: $1) },
      moves: [],
      modifications: []
    )
  }

  /// Keeps updates back, such as while the user drags a row.
  public func pause() { isPaused.publish(true) }

  /// Hands updates to the view again. The changes since `pause()` come as one update.
  public func resume() { isPaused.publish(false) }

  /// Writes a move that the view shows already, because table views move a row by themselves when the user drops it.
  /// `index` is the index after the move.
  @discardableResult
  public func noteMove(from row: Int, to index: Int) async throws -> PendingWrite? {
    let id = contents.withLock { contents -> String? in
      guard contents.shown.indices.contains(row), (0...contents.shown.count - 1).contains(index), row != index else {
        return nil
      }
      let element = contents.shown.remove(at: row)
      contents.shown.insert(element, at: index)
      contents.hasOtherList = true
      return element.id
    }
    guard let id else { return nil }
    return try await list.move(id, to: index)
  }
}

extension SyncedList {
  /// Moves elements, for `onMove` of SwiftUI. `offset` is an index of the list before the move. `shown` is the list
  /// that the view shows.
  @discardableResult
  public func move(fromOffsets offsets: IndexSet, toOffset offset: Int, of shown: [Element]) async throws
    -> PendingWrite?
  {
    let moves = Self.moves(fromOffsets: offsets, toOffset: offset, count: shown.count)
    if moves.isEmpty { return nil }
    let actions = moves.map { move in
      moving(shown[move.row].id, to: move.index)
    }
    return try await write(actions)
  }

  /// Removes elements, for `onDelete` of SwiftUI. `shown` is the list that the view shows. More than 500 rows take
  /// several writes, of which this returns the last one.
  @discardableResult
  public func remove(atOffsets offsets: IndexSet, of shown: [Element]) async throws -> PendingWrite? {
    let actions = offsets.filter { shown.indices.contains($0) }.map { row in
      action("remove", ["id": .string(shown[row].id)])
    }
    var last: PendingWrite?
    for first in stride(from: 0, to: actions.count, by: ClientAction.mostActions) {
      last = try await write(Array(actions[first...].prefix(ClientAction.mostActions)))
    }
    return last
  }

  /// The elements after a move of several, as `onMove` of SwiftUI means it.
  static func elements(_ shown: [Element], movedFrom offsets: IndexSet, toOffset offset: Int) -> [Element] {
    let target = min(max(offset, 0), shown.count)
    func staying(_ range: Range<Int>) -> [Element] { range.filter { !offsets.contains($0) }.map { shown[$0] } }
    let moved = offsets.filter { shown.indices.contains($0) }.map { shown[$0] }
    return staying(0..<target) + moved + staying(target..<shown.count)
  }

  /// The moves of single elements, in order, that together move several. `row` is an index before all moves, and
  /// `index` the one after its own move.
  static func moves(fromOffsets offsets: IndexSet, toOffset offset: Int, count: Int) -> [(row: Int, index: Int)] {
    let rows = offsets.filter { (0..<count).contains($0) }
    let before = rows.count { $0 < offset }
    let target = min(max(offset, 0), count) - before
    // The rows above the target come first, from the last one on, and end up above it. So no move shifts the place
    // of a later one.
    let upper = rows.prefix(before).enumerated().reversed().map { place, row in
      (row: row, index: target + place)
    }
    let lower = rows.dropFirst(before).enumerated().map { place, row in
      (row: row, index: target + before + place)
    }
    return (upper + lower).filter { $0.row != $0.index }
  }
}
