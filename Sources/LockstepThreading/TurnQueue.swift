/// Elements that wait in the queues of their owners. The owners take turns.
struct TurnQueue<Owner: Hashable & Sendable, Element: Sendable>: Sendable {
  private var queues: [Owner: [Element]] = [:]
  /// The owners of the queues, in the order of their turns.
  private var turns: [Owner] = []

  var isEmpty: Bool { turns.isEmpty }

  func count(of owner: Owner) -> Int { queues[owner]?.count ?? 0 }

  mutating func append(_ element: Element, of owner: Owner) {
    if queues[owner, default: []].isEmpty { turns.append(owner) }
    queues[owner, default: []].append(element)
  }

  /// Removes the next element.
  mutating func next() -> Element? {
    guard !turns.isEmpty else { return nil }
    let owner = turns.removeFirst()
    let element = queues[owner]?.removeFirst()
    if queues[owner]?.isEmpty == false { turns.append(owner) } else { queues[owner] = nil }
    return element
  }
}
