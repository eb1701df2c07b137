extension LatestValues {
  /// These values while `isActive` is true. On activation, the latest value if it differs.
  ///
  /// Values from an inactive period are skipped. The sequence ends when either source ends, after
  /// the newest value if it is active.
  public func active(while isActive: LatestValues<Bool>) -> ActiveValues<Value> {
    ActiveValues(values: self, isActive: isActive)
  }
}

/// The values of a source while another source is true.
public struct ActiveValues<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  /// The element.
  public typealias Element = Value
  /// Watching cannot fail.
  public typealias Failure = Never

  let values: LatestValues<Value>
  let isActive: LatestValues<Bool>

  /// A new watcher.
  public func makeAsyncIterator() -> Iterator {
    Iterator(values: values.source, isActive: isActive.source)
  }

  /// One watcher, and the last value it was given.
  public struct Iterator: AsyncIteratorProtocol {
    let values: Latest<Value>
    let isActive: Latest<Bool>
    var delivered: Value?

    /// The next value while active; `nil` at the end or on cancellation.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
      while !Task.isCancelled {
        // In this order, so that a value published after the deactivation is not delivered.
        let newest = values.look()
        let activity = isActive.look()
        if activity.value, newest.value != delivered {
          delivered = newest.value
          return newest.value
        }
        if newest.isFinished || activity.isFinished { return nil }
        await withTaskGroup(of: Void.self, isolation: actor) { [values, isActive] group in
          group.addTask { _ = await values.next(after: newest.version, isolation: nil) }
          group.addTask { _ = await isActive.next(after: activity.version, isolation: nil) }
          await group.next()
          group.cancelAll()
        }
      }
      return nil
    }
  }
}
