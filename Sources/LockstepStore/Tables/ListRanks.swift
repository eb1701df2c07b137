import LockstepCollections

/// The ranks that keep a list in order in its table: with gaps between them, so that putting an element anywhere writes one
/// row. Where a gap is used up, the whole list is numbered anew.
package struct ListRanks {
  /// How far apart neighbours are where there is room: 40 halvings, and four million elements at either end.
  private static let gap = 1 << 40
  /// How far from 0 ranks get; beyond it the list is numbered anew. Small enough that no two are too far apart to be
  /// subtracted.
  private static let bound = 1 << 62

  /// The rank of an element in the table.
  let rank: (ListItem) throws -> Int?
  /// Gives an element another rank, and leaves it as it is otherwise.
  let setRank: (ListItem, Int) throws -> Void

  package init(rank: @escaping (ListItem) throws -> Int?, setRank: @escaping (ListItem, Int) throws -> Void) {
    self.rank = rank
    self.setRank = setRank
  }

  /// The rank of an element that comes to a place of the list, which isn't in it yet. May number the list anew.
  package func rank(at index: Int, in items: [ListItem]) throws -> Int {
    let index = min(max(index, 0), items.count)
    let previous = index > 0 ? try rank(items[index - 1]) : nil
    let next = index < items.count ? try rank(items[index]) : nil
    let rank: Int? =
      switch (previous, next) {
      case (nil, nil): 0
      case (let previous?, nil): previous < Self.bound - Self.gap ? previous + Self.gap : nil
      case (nil, let next?): next > Self.gap - Self.bound ? next - Self.gap : nil
      case (let previous?, let next?): next - previous > 1 ? previous + (next - previous) / 2 : nil
      }
    return try rank ?? renumber(items, leavingRoomAt: index)
  }

  private func renumber(_ items: [ListItem], leavingRoomAt index: Int) throws -> Int {
    for (place, item) in items.enumerated() { try setRank(item, (place < index ? place : place + 1) * Self.gap) }
    return index * Self.gap
  }
}
