@usableFromInline typealias Waiter = UnsafeContinuation<Void, Never>

/// Parked tasks in the order of their tickets. Waking is linear, leaving early is logarithmic, and a
/// single waiter, which is the usual case, costs no allocation.
@usableFromInline
struct WaiterList: Sendable {
  @usableFromInline
  struct Entry: Sendable {
    @usableFromInline let ticket: Int
    @usableFromInline var waiter: Waiter?

    @inlinable
    init(ticket: Int, waiter: Waiter) {
      self.ticket = ticket
      self.waiter = waiter
    }
  }

  @usableFromInline var entries: [Entry] = []
  @usableFromInline var vacancies = 0

  @inlinable
  init() {}

  @inlinable
  mutating func park(_ waiter: Waiter, ticket: Int) {
    entries.append(Entry(ticket: ticket, waiter: waiter))
    // Two tasks may take their tickets in one order and the lock in the other.
    var position = entries.count - 1
    while position > 0, entries[position - 1].ticket > ticket {
      entries.swapAt(position - 1, position)
      position -= 1
    }
  }

  @inlinable
  mutating func takeAll() -> Wake {
    switch entries.count {
    case 0:
      return Wake(first: nil, others: [])
    case 1:
      let first = entries.removeLast().waiter
      vacancies = 0
      return Wake(first: first, others: [])
    default:
      let others = entries
      entries = []
      vacancies = 0
      return Wake(first: nil, others: others)
    }
  }

  @usableFromInline
  mutating func remove(ticket: Int) -> Waiter? {
    guard let index = index(of: ticket), let waiter = entries[index].waiter else { return nil }
    entries[index].waiter = nil
    vacancies += 1
    if vacancies * 2 > entries.count {
      entries.removeAll { $0.waiter == nil }
      vacancies = 0
    }
    return waiter
  }

  private func index(of ticket: Int) -> Int? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].ticket < ticket { low = middle + 1 } else { high = middle }
    }
    guard low < entries.count, entries[low].ticket == ticket else { return nil }
    return low
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
    for entry in others { entry.waiter?.resume() }
  }
}
