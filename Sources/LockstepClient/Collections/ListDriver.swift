import Foundation
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
    /// The view shows another list than `old` of the next update, because it has moved rows, or because `run` was
    /// called again.
    var hasOtherList = false
  }

  private let list: SyncedList<Element>
  private let contents = Mutex(Contents())
  private let isPaused = Latest(false)

  /// A driver of a list. It shows nothing before `run`.
  public init(_ list: SyncedList<Element>) { self.list = list }

  /// The elements that the view shows.
  public var items: [Element] { contents.withLock { $0.shown } }

  /// Calls `apply` with each update, and waits until `apply` returns. Ends when the task is cancelled. When `apply` is
  /// called, `items` is already the new list, as a data source must be.
  public func run(
    isolation: isolated (any Actor)? = #isolation,
    _ apply: (ListUpdate<Element>) async -> Void
  ) async {
    contents.withLock { $0.hasOtherList = !$0.shown.isEmpty }
    for await update in list.updates {
      for await isPaused in isPaused.values where !isPaused { break }
      if Task.isCancelled { return }
      guard let update = take(update) else { continue }
      await apply(update)
    }
  }

  /// The update for the view; nil if the view shows the new list already.
  private func take(_ update: ListUpdate<Element>) -> ListUpdate<Element>? {
    contents.withLock { contents in
      let (old, hasOtherList) = (contents.shown, contents.hasOtherList)
      (contents.shown, contents.hasOtherList) = (update.new, false)
      guard hasOtherList else { return update }
      let changeset = (try? ListChangeset(from: old, to: update.new)) ?? Self.replacement(of: old, by: update.new)
      if changeset.isEmpty { return nil }
      return ListUpdate(old: old, new: update.new, changeset: changeset, origin: update.origin)
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
    for first in stride(from: 0, to: actions.count, by: SyncEngine.mostActions) {
      last = try await write(Array(actions[first...].prefix(SyncEngine.mostActions)))
    }
    return last
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
