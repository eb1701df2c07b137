@usableFromInline typealias Waiter = UnsafeContinuation<Void, Never>

/// Parked tasks in the order in which they began to wait.
@usableFromInline typealias WaiterList = NumberedList<Waiter>

extension WaiterList {
  @inlinable
  mutating func takeAll() -> Wake {
    switch entries.count {
    case 0:
      return Wake(first: nil, others: [])
    case 1:
      // The usual case keeps the array, so that the next waiter needs no allocation.
      let first = entries.removeLast().member
      vacancies = 0
      return Wake(first: first, others: [])
    default:
      let others = entries
      entries = []
      vacancies = 0
      return Wake(first: nil, others: others)
    }
  }
}

/// The tasks to wake after a change.
@usableFromInline
struct Wake: Sendable {
  @usableFromInline let first: Waiter?
  @usableFromInline let others: [WaiterList.Entry]

  @inlinable
  init(first: Waiter?, others: [WaiterList.Entry]) {
    self.first = first
    self.others = others
  }

  @inlinable
  func resume() {
    first?.resume()
    for entry in others { entry.member?.resume() }
  }
}
