import Foundation
import LockstepCollections
import LockstepReactor

/// A list at one moment, with its elements decoded.
struct ListVersion<Element: Codable & Identifiable & Equatable & Sendable>: Sendable, Equatable
where Element.ID == String {
  /// The elements that the type can read.
  var list = ListState()
  /// The same, decoded.
  var elements: [Element] = []
  var sequence = 0
  var origin = ChangeOrigin.server
  /// The list with the elements that the type cannot read.
  private var whole = ListState()
  private var unreadable: Set<ElementKey> = []

  static func == (left: ListVersion, right: ListVersion) -> Bool { left.sequence == right.sequence }

  /// How many elements the type cannot read.
  var unreadableCount: Int { unreadable.count }

  /// The version with another list. Decodes only what has changed.
  func followed(by next: ListState, sequence: Int, origin: ChangeOrigin) -> ListVersion {
    let difference = ListDifference(from: whole, to: next)
    var version = self
    (version.sequence, version.origin) = (sequence, origin)
    if difference.isEmpty { return version }
    version.whole = next
    var decoded: [ElementKey: Element] = [:]
    for item in difference.insertions.map(\.item) + difference.modifications.map(\.item) {
      if let element = Self.decode(item) {
        decoded[item.id] = element
        version.unreadable.remove(item.id)
      } else {
        version.unreadable.insert(item.id)
      }
    }
    for deletion in difference.deletions { version.unreadable.remove(deletion.id) }
    version.list = next
    for id in version.unreadable { version.list.apply(.removed(id: id.text)) }
    version.elements = Self.elements(of: version.list, decoded, before: self)
    return version
  }

  private static func elements(
    of list: ListState,
    _ decoded: [ElementKey: Element],
    before: ListVersion
  ) -> [Element] {
    var known = decoded
    for (item, element) in zip(before.list.items, before.elements) where known[item.id] == nil {
      known[item.id] = element
    }
    return list.items.compactMap { known[$0.id] }
  }

  private static func decode(_ item: ListItem) -> Element? {
    try? JSONDecoder().decode(Element.self, from: Data(item.encoded))
  }

  /// The changeset that leads from an earlier version to this one.
  func changeset(since old: ListVersion) -> ListChangeset<Element> {
    let difference = ListDifference(from: old.list, to: list)
    return ListChangeset(
      deletions: difference.deletions.map { .init(index: $0.index, id: $0.id.text) },
      insertions: difference.insertions.map { .init(index: $0.index, element: elements[$0.index]) },
      moves: difference.moves.map { .init(from: $0.from, to: $0.to, id: $0.id.text) },
      modifications: difference.modifications.map {
        .init(index: $0.index, newIndex: $0.newIndex, element: elements[$0.newIndex])
      }
    )
  }
}
