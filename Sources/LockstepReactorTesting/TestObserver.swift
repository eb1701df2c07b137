import Synchronization

/// Records events and their times as the rows of a table.
public final class TestObserver<Element: Sendable>: Sendable {
  private let scheduler: TestScheduler
  private let recorded = Mutex<[Recorded<Element>]>([])

  init(scheduler: TestScheduler) {
    self.scheduler = scheduler
  }

  /// All rows so far.
  public var events: [Recorded<Element>] { recorded.withLock { $0 } }

  /// The elements so far, without their times.
  public var elements: [Element] {
    events.compactMap { row in
      if case .next(let element) = row.event { return element }
      return nil
    }
  }

  /// Records an event at the current time.
  public func on(_ event: Event<Element>) {
    let row = Recorded(time: scheduler.time, event: event)
    recorded.withLock { $0.append(row) }
  }

  /// Records an element at the current time.
  public func next(_ element: Element) {
    on(.next(element))
  }

  /// Reads a sequence to its end. A cancellation is not recorded.
  public func read<Elements: AsyncSequence>(_ elements: Elements) async where Elements.Element == Element {
    do {
      for try await element in elements { next(element) }
      if !Task.isCancelled { on(.completed) }
    } catch {
      if !Task.isCancelled { on(.error(error)) }
    }
  }
}
