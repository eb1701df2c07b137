/// Wakes a reader of a newest value after a change: a parked task, or an object that reads without a
/// task.
@usableFromInline
enum Waiter: Sendable {
  case task(UnsafeContinuation<Void, Never>)
  case signal(ChangeSignal)

  @inlinable
  func resume() {
    switch self {
    case .task(let continuation): continuation.resume()
    case .signal(let signal): signal.send()
    }
  }
}

/// Tells a reader without a task of a change. `send` runs on the thread that made the change, so it
/// must be quick.
@usableFromInline
package final class ChangeSignal: Sendable {
  @usableFromInline let send: @Sendable () -> Void

  package init(_ send: @escaping @Sendable () -> Void) { self.send = send }
}

/// The waiters in the order in which they began to wait.
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

/// The waiters to wake after a change.
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
