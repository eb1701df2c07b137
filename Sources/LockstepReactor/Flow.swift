/// The path that a reactor's actions, mutations or states take, and what is merged into it.
///
/// A flow is a description, made once by the `transform` functions. Its stages are synchronous, so
/// that a reactor without asynchronous work stays without it; what takes time or counts time (a
/// debounce, say) belongs into an effect with the policy ``EffectPolicy/latest(_:)``.
public struct Flow<Element: Sendable>: Sendable {
  @usableFromInline typealias Stage = @Sendable (Element) -> Element?

  /// A stream from elsewhere: runs until it ends, and hands over each element.
  struct Source: Sendable {
    let run:
      @Sendable (_ handOver: @Sendable (Result<Element, EventsLostError>) async throws -> Void) async throws -> Void
    var stage: Stage?
  }

  private(set) var stage: Stage?
  private(set) var sources: [Source] = []

  init() {}

  /// Adds the elements of another stream, from the start of the host to the stream's end.
  ///
  /// An error of the stream ends this one stream and is reported by the host; everything else goes
  /// on. The stream waits while its last element is handled, so it cannot flood the reactor. Events of
  /// a ``DispatchSubject`` come without waiting: when more of them come at once than the capacity of the
  /// ``EventStream``, the host reports ``EventsLostError``, and the stream goes on behind the gap. So merge
  /// a ``BoundValue`` where the newest fact replaces the older ones, and for other facts choose a
  /// capacity for the largest burst, or load everything anew on that report.
  public func merging<Elements: AsyncSequence & Sendable>(
    _ elements: Elements
  ) -> Flow where Elements.Element == Element {
    var flow = self
    flow.sources.append(
      Source(
        run: { handOver in
          var iterator = elements.makeAsyncIterator()
          while true {
            do {
              guard let element = try await iterator.next() else { return }
              try await handOver(.success(element))
            } catch let gap as EventsLostError {
              try await handOver(.failure(gap))
            }
          }
        }
      )
    )
    return flow
  }

  /// Changes each element, or drops it (`nil`), of this flow and of all that was merged so far.
  public func compactMap(_ transform: @escaping @Sendable (Element) -> Element?) -> Flow {
    var flow = self
    flow.stage = Self.join(stage, transform)
    for index in flow.sources.indices {
      flow.sources[index].stage = Self.join(flow.sources[index].stage, transform)
    }
    return flow
  }

  /// Changes each element of this flow and of all that was merged so far.
  public func map(_ transform: @escaping @Sendable (Element) -> Element) -> Flow {
    compactMap { transform($0) }
  }

  /// Lets through only what `isIncluded`.
  public func filter(_ isIncluded: @escaping @Sendable (Element) -> Bool) -> Flow {
    compactMap { isIncluded($0) ? $0 : nil }
  }

  private static func join(_ first: Stage?, _ second: @escaping Stage) -> Stage {
    guard let first else { return second }
    return { element in first(element).flatMap(second) }
  }
}
