import SQLite

/// The ranks that keep a user's favorites in order.
struct FavoriteRanks {
  /// How far apart neighbours are where there is room: 32 halvings, and two thousand million elements at either end.
  private static let gap = 1 << 32

  let user: UserID
  let connection: Connection

  /// The rank of an element that comes to a place of the list, which isn't in it yet. May number the list anew.
  func rank(at index: Int, in ids: [String]) throws -> Int {
    let index = min(max(index, 0), ids.count)
    let previous = index > 0 ? try rank(of: ids[index - 1]) : nil
    let next = index < ids.count ? try rank(of: ids[index]) : nil
    switch (previous, next) {
    case (nil, nil): return 0
    case (let previous?, nil): return previous + Self.gap
    case (nil, let next?): return next - Self.gap
    case (let previous?, let next?):
      let middle = previous + (next - previous) / 2
      return middle == previous ? try renumber(ids, leavingRoomAt: index) : middle
    }
  }

  private func rank(of id: String) throws -> Int? {
    try connection.first("SELECT rank FROM favorites WHERE user_id = ? AND id = ?", user, id) { try $0[0] as Int }
  }

  private func renumber(_ ids: [String], leavingRoomAt index: Int) throws -> Int {
    for (place, id) in ids.enumerated() {
      let rank = (place < index ? place : place + 1) * Self.gap
      try connection.run("UPDATE favorites SET rank = ? WHERE user_id = ? AND id = ?", rank, user, id)
    }
    return index * Self.gap
  }
}
