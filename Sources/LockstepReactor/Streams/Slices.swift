extension AsyncSequence where Self: Sendable {
  /// One part of each element. A part that equals the previous one is skipped.
  public func distinct<Part: Equatable & Sendable>(
    _ part: @escaping @Sendable (Element) -> Part
  ) -> DistinctParts<Self, Part, Part> {
    DistinctParts(base: self, key: part, part: { $0 })
  }

  /// The value of a pulse at once, then at every assignment, even of an equal value.
  ///
  /// A reader that is slower than the assignments gets only the latest.
  public func pulse<Value: Equatable & Sendable>(
    _ pulse: @escaping @Sendable (Element) -> Pulse<Value>
  ) -> DistinctParts<Self, Pulse<Value>, Value> {
    DistinctParts(base: self, key: pulse, part: { $0.wrappedValue })
  }
}

/// Parts of the elements of a sequence. A part is skipped if its key equals the previous part's
/// key.
public struct DistinctParts<Base: AsyncSequence & Sendable, Key: Equatable & Sendable, Part: Sendable>:
  AsyncSequence, Sendable
{
  /// The element.
  public typealias Element = Part
  /// Fails as the base fails.
  public typealias Failure = Base.Failure

  let base: Base
  let key: @Sendable (Base.Element) -> Key
  let part: @Sendable (Key) -> Part

  /// A reader with a base iterator of its own.
  public func makeAsyncIterator() -> Iterator {
    Iterator(base: base.makeAsyncIterator(), key: key, part: part)
  }

  /// Reads the base and remembers the last key.
  public struct Iterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    let key: @Sendable (Base.Element) -> Key
    let part: @Sendable (Key) -> Part
    var last: Key?

    /// The next part that differs; `nil` at the end of the base.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(Failure) -> Part? {
      while let element = try await base.next(isolation: actor) {
        let key = key(element)
        if key == last { continue }
        last = key
        return part(key)
      }
      return nil
    }
  }
}
