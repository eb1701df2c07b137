/// An open-addressed hash table from the names of a large object to the places of its members. It
/// stores no names, so the caller passes the members. `Hasher` has a random seed in each process.
struct NameIndex: Sendable {
  /// Objects with at most this many members have no index.
  static let threshold = 16

  private static let free: Int32 = -1

  /// Each is the place of a member, or `free`. The count is 0, or a power of two that is at least
  /// twice the count of members.
  private var slots: [Int32] = []

  /// Whether the index has all members. If not, it is empty.
  var isInUse: Bool { !slots.isEmpty }

  /// - Precondition: The index is in use.
  func place(of name: String, in members: [JSONObject.Member]) -> Int? {
    var slot = firstSlot(for: name)
    while slots[slot] != Self.free {
      let place = Int(slots[slot])
      if members[place].name.hasSameBytes(as: name) { return place }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Adds the last member, whose name is new.
  mutating func insertLast(of members: [JSONObject.Member]) {
    if members.count * 2 > slots.count {
      if isInUse || members.count > Self.threshold { rebuild(for: members, capacity: members.count * 2) }
    } else if let last = members.last {
      insert(place: members.count - 1, name: last.name)
    }
  }

  /// Removes a member. Call this before the member leaves `members`. Lowers later places by one.
  mutating func remove(place: Int, of members: [JSONObject.Member]) {
    guard members.count - 1 > Self.threshold else {
      slots = []
      return
    }
    guard isInUse else { return }
    var hole = firstSlot(for: members[place].name)
    while slots[hole] != Int32(place) { hole = (hole + 1) & (slots.count - 1) }
    closeHole(at: hole, members)
    let removed = Int32(place)
    slots.withUnsafeMutableBufferPointer { slots in
      // Without branches and checks the compiler vectorises this loop.
      for slot in slots.indices { slots[slot] &-= slots[slot] > removed ? 1 : 0 }
    }
  }

  mutating func rebuild(for members: [JSONObject.Member], capacity: Int) {
    guard capacity > Self.threshold else {
      slots = []
      return
    }
    var slotCount = 64
    while slotCount < capacity * 2 { slotCount *= 2 }
    slots = Array(repeating: Self.free, count: slotCount)
    for (place, member) in members.enumerated() { insert(place: place, name: member.name) }
  }

  private mutating func insert(place: Int, name: String) {
    var slot = firstSlot(for: name)
    while slots[slot] != Self.free { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = Int32(place)
  }

  /// Moves back the entries that a search could not reach because of the hole.
  private mutating func closeHole(at start: Int, _ members: [JSONObject.Member]) {
    let mask = slots.count - 1
    var hole = start
    var slot = (hole + 1) & mask
    while slots[slot] != Self.free {
      let wanted = firstSlot(for: members[Int(slots[slot])].name)
      if (slot - wanted) & mask >= (slot - hole) & mask {
        slots[hole] = slots[slot]
        hole = slot
      }
      slot = (slot + 1) & mask
    }
    slots[hole] = Self.free
  }

  private func firstSlot(for name: String) -> Int {
    var hasher = Hasher()
    name.hashBytes(into: &hasher)
    return hasher.finalize() & (slots.count - 1)
  }
}
