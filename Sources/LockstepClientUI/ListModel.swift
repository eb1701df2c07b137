import Foundation
import LockstepClient
import Observation

/// A list for SwiftUI views, and for other code that observes it.
///
///     @State private var favorites = ListModel(lockstep.list(of: ListEntry<Photo>.self))
///
///     List {
///       ForEach(favorites.items) { Row($0) }
///         .onMove { favorites.move(fromOffsets: $0, toOffset: $1) }
///         .onDelete { favorites.remove(atOffsets: $0) }
///     }
@MainActor
@Observable
public final class ListModel<Element: Codable & Identifiable & Equatable & Sendable> where Element.ID == String {
  /// The elements in their order. A change of this model is shown when its call returns.
  public private(set) var items: [Element]
  /// Why the last write could not be stored on this device.
  public internal(set) var failure: (any Error)?
  /// The list.
  @ObservationIgnored public let list: SyncedList<Element>
  @ObservationIgnored private var following: FollowingTask?
  /// How many changes the view shows that the list does not have yet.
  @ObservationIgnored private var unwritten = 0
  /// Writes one change after the other, in the order of the calls.
  @ObservationIgnored private var last: Task<Void, Never>?

  /// A model of a list. It follows the list until it is released.
  public init(_ list: SyncedList<Element>) {
    (self.list, items) = (list, list.elements)
    following = FollowingTask { [weak self, list] in
      for await update in list.updates { self?.show(update.new) }
    }
  }

  /// Adds an element, or replaces the element with its id.
  public func add(_ element: Element, at index: Int? = nil) {
    var shown = items
    if let place = shown.firstIndex(where: { $0.id.utf8.elementsEqual(element.id.utf8) }) {
      shown[place] = element
    } else {
      shown.insert(element, at: min(max(index ?? shown.count, 0), shown.count))
    }
    write(shown) { [list] in try await list.add(element, at: index) }
  }

  /// Removes an element.
  public func remove(_ id: Element.ID) {
    write(items.filter { !$0.id.utf8.elementsEqual(id.utf8) }) { [list] in try await list.remove(id) }
  }

  /// Moves elements, for `onMove`. `items` has the new order when this returns.
  public func move(fromOffsets offsets: IndexSet, toOffset offset: Int) {
    let old = items
    let moved = SyncedList.elements(old, movedFrom: offsets, toOffset: offset)
    write(moved) { [list] in try await list.move(fromOffsets: offsets, toOffset: offset, of: old) }
  }

  /// Removes elements, for `onDelete`. `items` does not have them any more when this returns.
  public func remove(atOffsets offsets: IndexSet) {
    let old = items
    let rest = old.indices.filter { !offsets.contains($0) }.map { old[$0] }
    write(rest) { [list] in try await list.remove(atOffsets: offsets, of: old) }
  }

  /// Shows a change at once, because a view shows its own change until it gets other elements. Then writes it.
  private func write(_ shown: [Element], _ body: @escaping @MainActor () async throws -> PendingWrite?) {
    unwritten += 1
    // Without a comparison, because elements whose texts have other encodings, such as two of “é”, are equal in Swift.
    items = shown
    last = Task { [last] in
      await last?.value
      do {
        _ = try await body()
        failure = nil
      } catch { failure = error }
      unwritten -= 1
      // The list now also has the changes of other devices. If the write has failed, it lacks this change.
      show(list.elements)
    }
  }

  private func show(_ elements: [Element]) {
    if unwritten == 0 { items = elements }
  }
}
