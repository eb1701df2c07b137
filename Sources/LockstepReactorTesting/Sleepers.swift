/// A sleeping task and its deadline.
struct Sleeper: Sendable {
  let id: Int
  let deadline: VirtualClock.Instant
  let continuation: CheckedContinuation<Void, any Error>
}

/// Sleepers in the order of their deadlines, then of falling asleep.
struct Sleepers: Sendable {
  private var inOrder: [Sleeper] = []
  private var lastID = 0

  var count: Int { inOrder.count }
  var first: Sleeper? { inOrder.first }

  mutating func nextID() -> Int {
    lastID += 1
    return lastID
  }

  mutating func insert(_ sleeper: Sleeper) {
    let later = inOrder.lastIndex { $0.deadline <= sleeper.deadline }
    inOrder.insert(sleeper, at: later.map { $0 + 1 } ?? 0)
  }

  mutating func remove(_ id: Int) -> Sleeper? {
    inOrder.firstIndex { $0.id == id }.map { inOrder.remove(at: $0) }
  }

  mutating func removeFirst() -> Sleeper? {
    inOrder.isEmpty ? nil : inOrder.removeFirst()
  }
}
