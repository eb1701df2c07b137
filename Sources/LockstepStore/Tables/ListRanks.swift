import LockstepCollections

/// The ranks that keep a list in order in its table. There are gaps between ranks, so that an
/// insertion anywhere writes one row. When a gap is used up, the elements around it are spread out.
struct ListRanks {
  /// The distance between two new ranks. There is room for 40 insertions at one place, and for four
  /// million elements at either end.
  private static let gap = 1 << 40
  /// The least distance after elements were spread out. There is room for 20 insertions.
  private static let leastGap = 1 << 20
  /// Ranks between `-bound` and `bound` are used, so that the difference of two ranks never overflows.
  private static let bound = 1 << 62
  /// The ranks that a table can have, unless it is damaged.
  static let bounds = (1 - bound)...(bound - 1)
  /// How many elements before and after a gap are spread out first. If there is no room among
  /// them, twice as many are, and so on.
  private static let neighbors = 32

  let rank: (ElementKey) throws -> Int?
  /// Gives an element another rank, and changes nothing else.
  let setRank: (ListItem, Int) throws -> Void

  /// The rank for the element that comes to a place.
  func rank(in place: ListGap) throws -> Int {
    let (previous, next) = (try rank(at: place.index - 1, of: place.list), try rank(at: place.index, of: place.list))
    let rank: Int? =
      switch (previous, next) {
      case (nil, nil): 0
      case (let previous?, nil): previous < Self.bound - Self.gap ? previous + Self.gap : nil
      case (nil, let next?): next > Self.gap - Self.bound ? next - Self.gap : nil
      case (let previous?, let next?): next - previous > 1 ? previous + (next - previous) / 2 : nil
      }
    return try rank ?? spread(around: place)
  }

  private func rank(at index: Int, of list: ListState) throws -> Int? {
    guard list.items.indices.contains(index), let rank = try rank(list.items[index].id) else { return nil }
    guard Self.bounds.contains(rank) else { throw RankDamagedError(rank: rank) }
    return rank
  }

  /// Spreads the elements around a place, and returns the rank for the place.
  private func spread(around place: ListGap) throws -> Int {
    var count = Self.neighbors
    while true {
      let moved = max(0, place.index - count)..<min(place.list.count, place.index + count)
      if let (first, gap) = try room(for: moved, of: place.list) {
        for index in moved {
          let step = index < place.index ? index - moved.lowerBound : index - moved.lowerBound + 1
          try setRank(place.list.items[index], first + step * gap)
        }
        return first + (place.index - moved.lowerBound) * gap
      }
      count *= 2
    }
  }

  /// The first rank and the distance for some elements and one more; nil if the distance would be
  /// too small.
  private func room(for moved: Range<Int>, of list: ListState) throws -> (first: Int, gap: Int)? {
    let count = moved.count + 1
    let (previous, next) = (try rank(at: moved.lowerBound - 1, of: list), try rank(at: moved.upperBound, of: list))
    switch (previous, next) {
    case (nil, nil): return (0, min(Self.gap, Self.bound / count))
    case (let previous?, nil):
      return previous < Self.bound - count * Self.gap ? (previous + Self.gap, Self.gap) : nil
    case (nil, let next?):
      return next > count * Self.gap - Self.bound ? (next - count * Self.gap, Self.gap) : nil
    case (let previous?, let next?):
      let gap = (next - previous) / (count + 1)
      return gap >= Self.leastGap ? (previous + gap, gap) : nil
    }
  }
}

/// A list cannot be changed, because the file was changed by hand or the disk is damaged.
struct RankDamagedError: Error, CustomStringConvertible {
  let rank: Int

  var description: String {
    "an element of a list has the rank \(rank), which is not between \(ListRanks.bounds.lowerBound) and "
      + "\(ListRanks.bounds.upperBound): the store is damaged. Restore a backup."
  }
}
