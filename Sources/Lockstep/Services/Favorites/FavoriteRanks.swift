import SQLite

/// The ranks that keep a user's favorites in order.
struct FavoriteRanks {
  /// How far apart neighbours are where there is room: 40 halvings, and four million elements at either end.
  private static let gap = 1 << 40
  /// How far from 0 ranks get; beyond it the list is numbered anew. Small enough that no two are too far apart to be
  /// subtracted.
  private static let bound = 1 << 62

  let user: UserID
  let connection: Connection

  /// The rank of an element that comes to a place of the list, which isn't in it yet. May number the list anew.
  func rank(at index: Int, in items: [ListItem]) throws -> Int {
    let index = min(max(index, 0), items.count)
    let previous = index > 0 ? try rank(of: items[index - 1].id.text) : nil
    let next = index < items.count ? try rank(of: items[index].id.text) : nil
    let rank: Int? =
      switch (previous, next) {
      case (nil, nil): 0
      case (let previous?, nil): previous < Self.bound - Self.gap ? previous + Self.gap : nil
      case (nil, let next?): next > Self.gap - Self.bound ? next - Self.gap : nil
      case (let previous?, let next?): next - previous > 1 ? previous + (next - previous) / 2 : nil
      }
    return try rank ?? renumber(items, leavingRoomAt: index)
  }

  private func rank(of id: String) throws -> Int? {
    try connection.first("SELECT rank FROM favorites WHERE user_id = ? AND id = ?", user, id) { try $0[0] as Int }
  }

  private func renumber(_ items: [ListItem], leavingRoomAt index: Int) throws -> Int {
    for (place, item) in items.enumerated() {
      let rank = (place < index ? place : place + 1) * Self.gap
      try connection.run("UPDATE favorites SET rank = ? WHERE user_id = ? AND id = ?", rank, user, item.id.text)
    }
    return index * Self.gap
  }
}
