/// Where each name of a large object stands: an open-addressed table of places into its members.
///
/// It holds no names of its own, so every call is given the members. The hash is Swift's `Hasher`, which
/// is seeded at random in each process: names that collide cannot be prepared in advance.
struct NameIndex: Sendable {
  /// Up to this many members an object needs no index.
  static let threshold = 16

  private static let free: Int32 = -1

  /// Places, or `free`. A power of two at least twice the count of the members; empty when not in use.
  private var slots: [Int32] = []

  /// Whether searches must ask the index. If so, every member is in it.
  var isInUse: Bool { !slots.isEmpty }

  /// - Precondition: the index is in use.
  func place(of name: String, in members: [JSONObject.Member]) -> Int? {
    var slot = firstSlot(for: name)
    while slots[slot] != Self.free {
      let place = Int(slots[slot])
      if members[place].name.hasSameBytes(as: name) { return place }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Takes up the last member, whose name none of the others has.
  mutating func insertLast(of members: [JSONObject.Member]) {
    if members.count * 2 > slots.count {
      if isInUse || members.count > Self.threshold { rebuild(for: members, capacity: members.count * 2) }
    } else if let last = members.last {
      insert(place: members.count - 1, name: last.name)
    }
  }

  /// Forgets the member at that place, which is about to be taken out: those behind it move up by one.
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
      // Without a branch or a check in it, the loop takes many slots at a time. The indices are the buffer's own.
      for slot in slots.indices { slots[slot] &-= slots[slot] > removed ? 1 : 0 }
    }
  }

  /// Starts over with these members and room for as many as the capacity; few need no index.
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

  /// Moves back whatever a search could no longer reach across the hole.
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
