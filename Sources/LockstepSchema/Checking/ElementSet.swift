import LockstepJSON

/// Finds two equal elements of an array, in time in proportion to the size of the array.
struct ElementSet {
  private static let free: Int32 = -1
  /// Up to this count, elements without children are compared one by one.
  private static let fewElements = 8

  /// The places of the first two equal elements. Nil if there are none, or the budget does not suffice.
  static func firstRepetition(in elements: [JSON], budget: inout StepBudget) -> (Int, Int)? {
    guard elements.count > 1 else { return nil }
    if elements.count <= fewElements, !elements.contains(where: hasChildren) {
      return firstRepetition(comparing: elements, &budget)
    }
    var set = ElementSet(elements.count, budget)
    defer { budget = set.hasher.budget }
    return set.firstRepetition(in: elements)
  }

  private static func hasChildren(_ value: JSON) -> Bool {
    switch value {
    case .array, .object: true
    default: false
    }
  }

  private static func firstRepetition(comparing elements: [JSON], _ budget: inout StepBudget) -> (Int, Int)? {
    for later in elements.indices.dropFirst() {
      let byteCount = elements[later].stringValue?.utf8.count ?? 0
      guard budget.spend(later), budget.spend(bytes: byteCount * later) else { return nil }
      for earlier in 0..<later where elements[earlier] == elements[later] { return (earlier, later) }
    }
    return nil
  }

  private var hasher: FullHash
  private var hashes: [Int] = []
  /// Each is the place of an element, or `free`. The count is a power of two, and at least twice the
  /// count of elements.
  private var slots: [Int32]

  private init(_ count: Int, _ budget: StepBudget) {
    hasher = FullHash(budget: budget)
    hashes.reserveCapacity(count)
    var slotCount = 16
    while slotCount < count * 2 { slotCount *= 2 }
    slots = Array(repeating: Self.free, count: slotCount)
  }

  private mutating func firstRepetition(in elements: [JSON]) -> (Int, Int)? {
    for (place, element) in elements.enumerated() {
      guard let hash = hasher.hash(of: element) else { return nil }
      var slot = hash & (slots.count - 1)
      while slots[slot] != Self.free {
        let other = Int(slots[slot])
        // Different values have the same hash only by accident, about once in 2^64 pairs.
        if hashes[other] == hash, elements[other] == element { return (other, place) }
        slot = (slot + 1) & (slots.count - 1)
      }
      slots[slot] = Int32(place)
      hashes.append(hash)
    }
    return nil
  }
}
