/// A queue on an array. Adding and removing cost constant time on average.
@usableFromInline
struct FirstInFirstOut<Element> {
  @usableFromInline var slots: [Element?] = []
  @usableFromInline var head = 0

  @inlinable
  init() {}

  @inlinable
  var count: Int { slots.count - head }
  @inlinable
  var isEmpty: Bool { count == 0 }
  @inlinable
  var first: Element? { head < slots.count ? slots[head] : nil }

  @inlinable
  mutating func append(_ element: Element) {
    slots.append(element)
  }

  @inlinable
  mutating func removeFirst() -> Element? {
    guard head < slots.count else { return nil }
    let element = slots[head]
    slots[head] = nil
    head += 1
    // Removing empty slots only when they are half of the array keeps the cost constant on average.
    if head * 2 >= slots.count {
      slots.removeFirst(head)
      head = 0
    }
    return element
  }
}

extension FirstInFirstOut: Sendable where Element: Sendable {}
