/// A value that can be read at any time and watched by any number of tasks.
///
/// All watchers share one slot. A slow watcher finds the newest value in it, never a queue of old
/// ones, so a watcher costs only a few words of memory. Publishing runs no code of the watchers: it
/// wakes them, and each compares the value itself.
public final class Latest<Value: Sendable & Equatable>: Sendable {
  @usableFromInline
  struct Slot: Sendable {
    @usableFromInline var value: Value
    /// Counts the published values. A watcher starts with 0, so it has not seen the first.
    @usableFromInline var version: UInt64 = 1
    @usableFromInline var isFinished = false

    @inlinable
    init(value: Value) { self.value = value }

    /// A value that the reader has not seen, `.some(nil)` at the end, or `nil` if the reader must
    /// wait.
    @inlinable
    func next(after seen: UInt64) -> (value: Value, version: UInt64)?? {
      if version != seen { return (value, version) }
      return isFinished ? .some(nil) : nil
    }
  }

  @usableFromInline let slot: AwaitableState<Slot>

  /// Starts with `value`.
  @inlinable
  public init(_ value: Value) {
    slot = AwaitableState(Slot(value: value))
  }

  /// The newest value.
  @inlinable
  public var value: Value { slot.withState(\.value) }

  /// Replaces the value and wakes the watchers. Does nothing after `finish()`.
  @inlinable
  public func publish(_ value: Value) {
    publishDeferringWake(value).wake.resume()
  }

  /// Ends every sequence of values, each after it has delivered the newest value.
  @inlinable
  public func finish() { finishDeferringWake().resume() }

  @inlinable
  func finishDeferringWake() -> Wake {
    slot.changeDeferringWake { $0.isFinished = true }.1
  }

  /// The newest value at once, then each newer one that differs from the one delivered before.
  ///
  /// Every iterator is a watcher, which ends when its task is cancelled or `finish()` was called.
  @inlinable
  public var values: LatestValues<Value> { LatestValues(source: self) }

  /// Returns the replaced value, so that the caller releases it after the lock.
  @inlinable
  func publishDeferringWake(_ value: Value) -> (replaced: Value?, wake: Wake) {
    slot.changeDeferringWake { slot in
      guard !slot.isFinished else { return nil }
      let replaced = slot.value
      slot.value = value
      slot.version &+= 1
      return replaced
    }
  }

  func look() -> Slot { slot.withState { $0 } }

  @inlinable
  func next(
    after seen: UInt64,
    isolation: isolated (any Actor)?
  ) async -> (value: Value, version: UInt64)? {
    await slot.wait(isolation: isolation) { $0.next(after: seen) } ?? nil
  }
}

/// The newest value at once, then each newer one that differs. Slow readers skip values.
public struct LatestValues<Value: Sendable & Equatable>: AsyncSequence, Sendable {
  /// Watching cannot fail.
  public typealias Failure = Never

  @usableFromInline let source: Latest<Value>

  @inlinable
  init(source: Latest<Value>) { self.source = source }

  /// A new watcher.
  @inlinable
  public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

  /// One watcher, and the last value it saw.
  public struct Iterator: AsyncIteratorProtocol {
    @usableFromInline let source: Latest<Value>
    @usableFromInline var seen: UInt64 = 0
    @usableFromInline var delivered: Value?

    @inlinable
    init(source: Latest<Value>) { self.source = source }

    /// The next value that differs from the last one; `nil` at the end or on cancellation.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
      while let found = await source.next(after: seen, isolation: actor) {
        if accept(found) { return found.value }
      }
      return nil
    }

    /// Whether the found value differs from the one delivered before.
    @inlinable
    mutating func accept(_ found: (value: Value, version: UInt64)) -> Bool {
      seen = found.version
      if found.value == delivered { return false }
      delivered = found.value
      return true
    }
  }
}

extension LatestValues.Iterator: PolledIterator {
  package mutating func poll(_ signal: ChangeSignal) -> Polled<Value> {
    while true {
      switch source.slot.poll(signal, for: { [seen] in $0.next(after: seen) }) {
      case .element(let found?): if accept(found) { return .element(found.value) }
      case .element(nil), .ended: return .ended
      case .waiting(let ticket): return .waiting(ticket)
      }
    }
  }

  package func forget(_ ticket: Int) { source.slot.forget(ticket) }
}
