/// The transforms of a reactor's actions, mutations or states, and the streams merged into them.
///
/// A reactor's `transform` functions build its flows. Transforms are synchronous. Work that takes
/// time, such as a debounce, belongs in an effect with the policy ``EffectPolicy/latest(_:)``.
public struct Flow<Element: Sendable>: Sendable {
  @usableFromInline typealias Transform = @Sendable (Element) -> Element?

  /// A merged stream.
  struct Source: Sendable {
    enum Reading: Sendable {
      /// A task of the host runs this. It hands over each element and returns when the stream ends.
      case byTask(
        @Sendable (_ handOver: @Sendable (Result<Element, EventsLostError>) async throws -> Void) async throws -> Void
      )
      /// The host's loop reads these newest values itself.
      case byLoop(@Sendable () -> MergedValues<Element>)
    }

    let reading: Reading
    var transform: Transform?
  }

  @usableFromInline private(set) var transform: Transform?
  private(set) var sources: [Source] = []

  init() {}

  /// Adds the elements of another stream, from the start of the host to the stream's end.
  ///
  /// If the stream fails, the host reports the error and ends this stream only. The host reads the
  /// next element after it has handled the one before, so the stream cannot flood the reactor.
  ///
  /// A ``DispatchSubject`` does not wait. If more of its events wait than its ``EventStream`` has
  /// room for, the host reports ``EventsLostError`` and the stream continues after the gap. If each
  /// event replaces the one before, merge a ``BoundValue`` instead. If every event matters, choose
  /// a capacity for the largest burst, or load everything again after a gap.
  ///
  /// Each merged stream is a task of the host. ``LatestValues`` need none, unless `convert` is
  /// asynchronous.
  public func merging<Elements: AsyncSequence & Sendable>(
    _ elements: Elements
  ) -> Flow where Elements.Element == Element {
    merging(elements) { $0 }
  }

  /// Adds the elements of another stream. `convert` changes an element, or drops it with `nil`.
  public func merging<Elements: AsyncSequence & Sendable>(
    _ elements: Elements,
    _ convert: @escaping @Sendable (Elements.Element) async -> Element?
  ) -> Flow {
    adding(
      .byTask { handOver in
        var iterator = elements.makeAsyncIterator()
        while true {
          do {
            guard let element = try await iterator.next() else { return }
            if let converted = await convert(element) { try await handOver(.success(converted)) }
          } catch let gap as EventsLostError {
            try await handOver(.failure(gap))
          }
        }
      }
    )
  }

  /// Adds newest values: the latest when the host starts, then each that differs.
  ///
  /// The host reads them without a task, so they take about 0.5 KiB, and nothing while no value
  /// changes.
  public func merging(_ values: LatestValues<Element>) -> Flow where Element: Equatable {
    merging(values) { $0 }
  }

  /// Adds newest values. `convert` changes a value, or drops it with `nil`.
  public func merging<Value>(
    _ values: LatestValues<Value>,
    _ convert: @escaping @Sendable (Value) -> Element?
  ) -> Flow {
    merging(polling: { values.makeAsyncIterator() }, convert)
  }

  /// Adds newest values with a shortest time between two changes.
  ///
  /// The first value and the first change come at once. A later change within `interval` of the one
  /// before comes at its end, and only the newest one. Use it if many hosts follow one value that
  /// can change often.
  public func merging<Value>(
    _ values: LatestValues<Value>,
    atMostEvery interval: Duration,
    on clock: any Clock<Duration>,
    _ convert: @escaping @Sendable (Value) -> Element?
  ) -> Flow {
    merging(polling: { values.makeAsyncIterator() }, spacing: Spacing(interval: interval, clock: clock), convert)
  }

  package func merging<Values: PolledIterator>(
    polling start: @escaping @Sendable () -> Values,
    _ convert: @escaping @Sendable (Values.Element) -> Element?
  ) -> Flow {
    merging(polling: start, spacing: nil, convert)
  }

  private func merging<Values: PolledIterator>(
    polling start: @escaping @Sendable () -> Values,
    spacing: Spacing?,
    _ convert: @escaping @Sendable (Values.Element) -> Element?
  ) -> Flow {
    adding(.byLoop { MergedValues(start(), spacing, convert) })
  }

  private func adding(_ reading: Source.Reading) -> Flow {
    var flow = self
    flow.sources.append(Source(reading: reading))
    return flow
  }

  /// Changes each element of this flow and of the streams merged so far, or drops it with `nil`.
  public func compactMap(_ transform: @escaping @Sendable (Element) -> Element?) -> Flow {
    var flow = self
    flow.transform = Self.chain(self.transform, transform)
    for index in flow.sources.indices {
      flow.sources[index].transform = Self.chain(flow.sources[index].transform, transform)
    }
    return flow
  }

  /// Changes each element of this flow and of the streams merged so far.
  public func map(_ transform: @escaping @Sendable (Element) -> Element) -> Flow {
    compactMap { transform($0) }
  }

  /// Of this flow and the streams merged so far, keeps the elements that `isIncluded` accepts.
  public func filter(_ isIncluded: @escaping @Sendable (Element) -> Bool) -> Flow {
    compactMap { isIncluded($0) ? $0 : nil }
  }

  @inlinable
  func transformed(_ element: Element) -> Element? {
    guard let transform else { return element }
    return transform(element)
  }

  private static func chain(_ first: Transform?, _ second: @escaping Transform) -> Transform {
    guard let first else { return second }
    return { element in first(element).flatMap(second) }
  }
}
