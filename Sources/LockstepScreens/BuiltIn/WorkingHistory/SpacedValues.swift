import LockstepReactor

/// Values with at least `interval` between two changes. The first value and the first change come
/// at once. If more changes come within `interval` after a change, the sequence gives only the
/// newest one, when `interval` has passed.
struct SpacedValues<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  let values: LatestValues<Value>
  let interval: Duration
  let clock: any Clock<Duration>

  func makeAsyncIterator() -> Iterator {
    Iterator(values: values.makeAsyncIterator(), interval: interval, clock: clock)
  }

  struct Iterator: AsyncIteratorProtocol {
    var values: LatestValues<Value>.Iterator
    let interval: Duration
    let clock: any Clock<Duration>
    private var delivered = 0

    init(values: LatestValues<Value>.Iterator, interval: Duration, clock: any Clock<Duration>) {
      (self.values, self.interval, self.clock) = (values, interval, clock)
    }

    mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
      if delivered > 1 {
        // The sleep fails only if the task is cancelled.
        do { try await clock.sleep(for: interval) } catch { return nil }
      }
      delivered += 1
      return await values.next(isolation: actor)
    }
  }
}
