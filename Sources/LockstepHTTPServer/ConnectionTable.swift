/// A loop's connections by their tokens. A token is a descriptor and a generation, so a late event
/// of a closed connection never reaches the next connection with the same descriptor.
struct ConnectionTable {
  private var slots: [Connection?] = []
  private var generation: UInt32 = 0
  private var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func nextToken(for descriptor: Int32) -> UInt64 {
    generation &+= 1
    // The loop's own tokens, such as `EventPoll.wakeToken`, use the highest generations.
    if generation >= .max - 1 { generation = 1 }
    return UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
  }

  subscript(token: UInt64) -> Connection? {
    get {
      let slot = Int(token & 0xFFFF_FFFF)
      guard slot < slots.count, let connection = slots[slot], connection.token == token else { return nil }
      return connection
    }
    set {
      let slot = Int(token & 0xFFFF_FFFF)
      if slot >= slots.count { slots.append(contentsOf: repeatElement(nil, count: slot + 1 - slots.count)) }
      count += (newValue == nil ? 0 : 1) - (slots[slot] == nil ? 0 : 1)
      slots[slot] = newValue
    }
  }

  func forEach(_ body: (Connection) -> Void) {
    for case let connection? in slots { body(connection) }
  }
}
