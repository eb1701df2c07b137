/// A sequence that calls `step` for each element. Each iterator begins with a new state from
/// `start`.
struct SteppedSequence<State, Element, Failure: Error>: AsyncSequence, Sendable {
  typealias Step = @Sendable (inout State, isolated (any Actor)?) async throws(Failure) -> Element?

  let start: @Sendable () -> State
  let step: Step

  func makeAsyncIterator() -> Iterator { Iterator(state: start(), step: step) }

  struct Iterator: AsyncIteratorProtocol {
    var state: State
    let step: Step

    mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Element? {
      try await step(&state, actor)
    }
  }
}
