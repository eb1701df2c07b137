extension LatestValues {
  /// These values while `isActive`; none while it is not, and on activation the latest, once.
  ///
  /// What changed in between is not made up for, and a value that the watcher has already is not
  /// repeated. Ends when either source ends.
  public func active(while isActive: LatestValues<Bool>) -> ActiveValues<Value> {
    ActiveValues(values: self, isActive: isActive)
  }
}

/// The values of a source while another says that somebody looks.
public struct ActiveValues<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  /// The element.
  public typealias Element = Value
  /// Watching cannot fail.
  public typealias Failure = Never

  let values: LatestValues<Value>
  let isActive: LatestValues<Bool>

  /// A new watcher.
  public func makeAsyncIterator() -> Iterator {
    Iterator(values: values.makeAsyncIterator(), isActive: isActive)
  }

  /// One watcher.
  public struct Iterator: AsyncIteratorProtocol {
    var values: LatestValues<Value>.Iterator
    let isActive: LatestValues<Bool>

    /// The next value that may be shown; `nil` at the end or on cancellation.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
      while await becomesActive(isolation: actor) {
        // Activity is asked again when a value is there: it may have ended while there was none.
        var look = values
        guard let value = await look.next(isolation: actor) else { return nil }
        guard isActive.source.value else { continue }
        values = look
        return value
      }
      return nil
    }

    /// The next value that may be shown; `nil` at the end or on cancellation.
    public mutating func next() async -> Value? {
      await next(isolation: nil)
    }

    private func becomesActive(isolation: isolated (any Actor)?) async -> Bool {
      var activity = isActive.makeAsyncIterator()
      while let isActive = await activity.next(isolation: isolation) {
        if isActive { return true }
      }
      return false
    }
  }
}
