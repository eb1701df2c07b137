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
  /// The elements in their order.
  public private(set) var items: [Element]
  /// Why the last write could not be stored on this device.
  public internal(set) var failure: (any Error)?
  /// The list.
  @ObservationIgnored public let list: SyncedList<Element>
  @ObservationIgnored private var following: FollowingTask?

  /// A model of a list. It follows the list until it is released.
  public init(_ list: SyncedList<Element>) {
    (self.list, items) = (list, list.elements)
    following = FollowingTask { [weak self, list] in
      for await update in list.updates { self?.items = update.new }
    }
  }

  /// Adds an element, or replaces the element with its id.
  public func add(_ element: Element, at index: Int? = nil) {
    write { [list] in try await list.add(element, at: index) }
  }

  /// Removes an element.
  public func remove(_ id: Element.ID) { write { [list] in try await list.remove(id) } }

  /// Moves elements, for `onMove`.
  public func move(fromOffsets offsets: IndexSet, toOffset offset: Int) {
    write { [list, items] in try await list.move(fromOffsets: offsets, toOffset: offset, of: items) }
  }

  /// Removes elements, for `onDelete`.
  public func remove(atOffsets offsets: IndexSet) {
    write { [list, items] in try await list.remove(atOffsets: offsets, of: items) }
  }

  private func write(_ body: @escaping @MainActor () async throws -> PendingWrite?) {
    Task {
      do {
        _ = try await body()
        failure = nil
      } catch { failure = error }
    }
  }
}
