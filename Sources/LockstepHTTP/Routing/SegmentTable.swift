/// A small hash table from a path part to a node of the router's tree. A `Dictionary` would need an
/// allocation and a slow hash for each lookup. The keys come from the routes, so no client can
/// choose keys that collide.
struct SegmentTable: Sendable {
  private var slots: [(part: [UInt8], node: Int)?]

  init(_ entries: [(part: [UInt8], node: Int)]) {
    // A power of two, and at least twice the entries, so that a probe soon finds an empty slot.
    var size = 1
    while size < entries.count * 2 { size *= 2 }
    slots = Array(repeating: nil, count: entries.isEmpty ? 0 : size)
    for entry in entries {
      var slot = entry.part.withUnsafeBytes { firstSlot(for: $0) }
      while slots[slot] != nil { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = entry
    }
  }

  func find(_ part: UnsafeRawBufferPointer) -> Int? {
    guard !slots.isEmpty else { return nil }
    var slot = firstSlot(for: part)
    while let entry = slots[slot] {
      if entry.part.count == part.count, part.equals(entry.part) { return entry.node }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  // FNV-1a. Every byte affects the low bits, which choose the slot.
  private func firstSlot(for part: UnsafeRawBufferPointer) -> Int {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in part { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    return Int(truncatingIfNeeded: hash) & (slots.count - 1)
  }
}
