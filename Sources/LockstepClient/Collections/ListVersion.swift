import Foundation
import LockstepCollections
import LockstepJSON
import LockstepReactor
import Synchronization

/// A list at one moment, as the client shows it.
struct ListVersion: Sendable, Equatable {
  let list: ListState
  let sequence: Int
  let origin: ChangeOrigin

  static func == (left: ListVersion, right: ListVersion) -> Bool { left.sequence == right.sequence }
}

/// A version of a list with its elements decoded.
struct DecodedList<Element: Codable & Identifiable & Equatable & Sendable>: Sendable where Element.ID == String {
  /// The elements that the type can read.
  private(set) var list = ListState()
  /// The elements of `list`, decoded.
  private(set) var elements: [Element] = []
  private(set) var sequence = -1
  private(set) var origin = ChangeOrigin.server
  /// The list with the elements that the type cannot read.
  private var whole = ListState()
  private var unreadable: Set<ElementKey> = []
  /// The values of members that older elements may lack, from the list's module.
  private let defaults: JSONObject

  init(defaults: JSONObject = JSONObject()) { self.defaults = defaults }

  /// How many elements the type cannot read.
  var unreadableCount: Int { unreadable.count }

  /// Takes over a later version. Decodes only the changed elements.
  mutating func take(_ version: ListVersion) {
    (sequence, origin) = (version.sequence, version.origin)
    let change = ListDifference(from: whole, to: version.list)
    if change.isEmpty { return }
    let wasReadable = unreadable.isEmpty
    whole = version.list
    var decoded: [ElementKey: Element] = [:]
    for item in change.insertions.map(\.item) + change.modifications.map(\.item) {
      if let element = decode(item) {
        decoded[item.id] = element
        unreadable.remove(item.id)
      } else {
        unreadable.insert(item.id)
      }
    }
    for deletion in change.deletions { unreadable.remove(deletion.id) }
    var readable = version.list
    for id in unreadable { readable.apply(.removed(id: id.text)) }
    let before = list
    list = readable
    // The indices of `change` are those of `whole`.
    let isReadable = wasReadable && unreadable.isEmpty
    edit(with: isReadable ? change : ListDifference(from: before, to: list), decoded)
  }

  /// Changes `elements` as the list has changed.
  private mutating func edit(with change: ListDifference, _ decoded: [ElementKey: Element]) {
    let gone = (change.deletions.map(\.index) + change.moves.map(\.from)).sorted()
    let moved = change.moves.map { (index: $0.to, element: elements[$0.from]) }
    // Each readable insertion has a decoded element, because a reader has one type of elements.
    let added = change.insertions.compactMap { item in decoded[item.item.id].map { (index: item.index, element: $0) } }
    let arrivals = (added + moved).sorted { $0.index < $1.index }
    if gone.count + arrivals.count <= 16 {
      for index in gone.reversed() { elements.remove(at: index) }
      for arrival in arrivals { elements.insert(arrival.element, at: min(arrival.index, elements.count)) }
    } else {
      elements = Self.merged(elements, without: gone, with: arrivals)
    }
    for modification in change.modifications where modification.newIndex < elements.count {
      if let element = decoded[modification.item.id] { elements[modification.newIndex] = element }
    }
  }

  private static func merged(
    _ elements: [Element],
    without gone: [Int],
    with arrivals: [(index: Int, element: Element)]
  ) -> [Element] {
    var (result, next, nextGone): ([Element], Int, Int) = ([], 0, 0)
    result.reserveCapacity(elements.count - gone.count + arrivals.count)
    func takeStaying(upTo count: Int) {
      while result.count < count, next < elements.count {
        if nextGone < gone.count, gone[nextGone] == next { nextGone += 1 } else { result.append(elements[next]) }
        next += 1
      }
    }
    for arrival in arrivals {
      takeStaying(upTo: arrival.index)
      result.append(arrival.element)
    }
    takeStaying(upTo: .max)
    return result
  }

  /// Translates an index in `elements` into an index in the server's list, which also has the unreadable elements. `id`
  /// is the id of the element that the app adds or moves.
  func serverIndex(_ index: Int, of id: String) -> Int {
    if unreadable.isEmpty { return index }
    var others = list
    var all = whole
    others.apply(.removed(id: id))
    all.apply(.removed(id: id))
    guard index >= 0, index < others.count else { return index < 0 ? index : all.count }
    return all.index(of: others.items[index].id.text) ?? index
  }

  private func decode(_ item: ListItem) -> Element? {
    ElementCoding.decode(Element.self, from: item.encoded, defaults)
  }

  /// The changeset that leads from an earlier version to this one. It leaves out changes of members that the type does
  /// not have.
  func changeset(since old: DecodedList) -> ListChangeset<Element> {
    let difference = ListDifference(from: old.list, to: list)
    return ListChangeset(
      deletions: difference.deletions.map { .init(index: $0.index, id: $0.id.text) },
      insertions: difference.insertions.map { .init(index: $0.index, element: elements[$0.index]) },
      moves: difference.moves.map { .init(from: $0.from, to: $0.to, id: $0.id.text) },
      modifications: difference.modifications.compactMap { change in
        let element = elements[change.newIndex]
        return ElementCoding.areSame(old.elements[change.index], element)
          ? nil : .init(index: change.index, newIndex: change.newIndex, element: element)
      }
    )
  }
}

/// Decodes the versions of a list when they are read, so that a version without a reader costs nothing.
final class ListDecoder<Element: Codable & Identifiable & Equatable & Sendable>: Sendable where Element.ID == String {
  private let newest: Mutex<DecodedList<Element>>

  init(defaults: JSONObject) { newest = Mutex(DecodedList(defaults: defaults)) }

  /// Decodes the version. Returns a later one if that was read before.
  func decode(_ version: ListVersion) -> DecodedList<Element> {
    newest.withLock { newest in
      if version.sequence > newest.sequence { newest.take(version) }
      return newest
    }
  }
}
