extension AsyncSequence where Self: Sendable {
  /// One part of each element. A part that equals the previous one is skipped.
  public func distinct<Part: Equatable & Sendable>(
    _ part: @escaping @Sendable (Element) -> Part
  ) -> some AsyncSequence<Part, Failure> & Sendable {
    distinctParts(part) { $0 }
  }

  /// The value of a pulse at once, then at every assignment, even of an equal value.
  ///
  /// A reader that is slower than the assignments gets only the latest.
  public func pulse<Value: Equatable & Sendable>(
    _ pulse: @escaping @Sendable (Element) -> Pulse<Value>
  ) -> some AsyncSequence<Value, Failure> & Sendable {
    distinctParts(pulse) { $0.wrappedValue }
  }

  /// A part of each element. A part whose key equals the previous key is skipped.
  private func distinctParts<Key: Equatable & Sendable, Part: Sendable>(
    _ key: @escaping @Sendable (Element) -> Key,
    _ part: @escaping @Sendable (Key) -> Part
  ) -> SteppedSequence<(base: AsyncIterator, last: Key?), Part, Failure> {
    SteppedSequence(start: { (makeAsyncIterator(), nil) }) { state, actor throws(Failure) in
      while let element = try await state.base.next(isolation: actor) {
        let key = key(element)
        if key == state.last { continue }
        state.last = key
        return part(key)
      }
      return nil
    }
  }
}
