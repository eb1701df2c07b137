/// The events of an ``EventStream``, without errors for lost events.
public struct EventsWithGaps<Element: Sendable>: AsyncSequence, Sendable {
  /// Reading cannot fail.
  public typealias Failure = Never

  let events: EventStream<Element>

  /// The reader. A second iterator of the same stream shares the queue with the first.
  public func makeAsyncIterator() -> Iterator {
    Iterator(events: events.makeAsyncIterator())
  }

  /// Takes events from the queue.
  public struct Iterator: AsyncIteratorProtocol {
    var events: EventStream<Element>.Iterator

    /// The next event; `nil` when the source has finished or the task was cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      while true {
        do { return try await events.next(isolation: actor) } catch { continue }
      }
    }
  }
}
