/// An iterator that is read without a task.
package protocol PolledIterator<Element>: Sendable {
  associatedtype Element: Sendable

  /// The next element. If there is none yet, sends `signal` once when there may be one.
  mutating func poll(_ signal: ChangeSignal) -> Polled<Element>

  /// Forgets the signal of the `poll` that returned this ticket.
  func forget(_ ticket: Int)
}

/// The result of reading without a task.
package enum Polled<Element: Sendable>: Sendable {
  case element(Element)
  case waiting(_ ticket: Int)
  case ended
}
