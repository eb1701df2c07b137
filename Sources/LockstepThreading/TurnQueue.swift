/// Elements that wait in the queues of their owners. The owners take turns.
struct TurnQueue<Owner: Hashable & Sendable, Element: Sendable>: Sendable {
  /// The elements from `first` on wait. Removing the first element of an array would move all others.
  private struct Queue: Sendable {
    var elements: [Element?] = []
    var first = 0

    var count: Int { elements.count - first }

    mutating func next() -> Element? {
      guard first < elements.count else { return nil }
      let element = elements[first].take()
      first += 1
      if first * 2 > elements.count, first > 32 {
        elements.removeFirst(first)
        first = 0
      }
      return element
    }
  }

  private var queues: [Owner: Queue] = [:]
  /// The owners of the queues, in the order of their turns.
  private var turns: [Owner] = []

  var isEmpty: Bool { turns.isEmpty }

  func count(of owner: Owner) -> Int { queues[owner]?.count ?? 0 }

  mutating func append(_ element: Element, of owner: Owner) {
    if queues[owner] == nil { turns.append(owner) }
    queues[owner, default: Queue()].elements.append(element)
  }

  /// Removes the next element.
  mutating func next() -> Element? {
    guard !turns.isEmpty else { return nil }
    let owner = turns.removeFirst()
    let element = queues[owner]?.next()
    if queues[owner]?.count == 0 { queues[owner] = nil } else { turns.append(owner) }
    return element
  }
}
