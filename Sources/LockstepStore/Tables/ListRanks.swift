import LockstepCollections

/// The ranks that keep a list in order in its table. There are gaps between ranks, so that an
/// insertion anywhere writes one row. When a gap is used up, the whole list gets new ranks.
struct ListRanks {
  /// The distance between two new ranks. There is room for 40 insertions at one place, and for four
  /// million elements at either end.
  private static let gap = 1 << 40
  /// Ranks from `-bound` to `bound` are used, so that the difference of two ranks never overflows.
  private static let bound = 1 << 62

  let rank: (ElementKey) throws -> Int?
  /// All elements of the list, in order.
  let order: () throws -> [ElementKey]
  /// Changes only the ranks of these elements.
  let setRanks: ([ElementKey: Int]) throws -> Void

  /// The rank for an element between two others. If there is no room, the whole list gets new
  /// ranks.
  func rank(of key: ElementKey, in place: ListGap) throws -> Int {
    let (previous, next) = (try place.previous.flatMap(rank), try place.next.flatMap(rank))
    let rank: Int? =
      switch (previous, next) {
      case (nil, nil): 0
      case (let previous?, nil): previous < Self.bound - Self.gap ? previous + Self.gap : nil
      case (nil, let next?): next > Self.gap - Self.bound ? next - Self.gap : nil
      case (let previous?, let next?): next - previous > 1 ? previous + (next - previous) / 2 : nil
      }
    return try rank ?? renumber(leavingRoomFor: key, in: place)
  }

  private func renumber(leavingRoomFor key: ElementKey, in place: ListGap) throws -> Int {
    let others = try order().filter { $0 != key }
    let index = place.next.flatMap { others.firstIndex(of: $0) } ?? others.count
    let ranks = others.enumerated().map { ($1, ($0 < index ? $0 : $0 + 1) * Self.gap) }
    try setRanks(Dictionary(ranks) { first, _ in first })
    return index * Self.gap
  }
}
