/// An effect that takes time, from its start to its end.
@usableFromInline
struct RunningEffect<R: Reactor> {
  @usableFromInline let action: R.Action
  @usableFromInline let receipt: Receipt<R.State>?
  @usableFromInline let lane: Lane?
  @usableFromInline let signal: CancelSignal?
  /// Set when a newer effect of the lane won. What it still emits is dropped.
  @usableFromInline var isCancelled = false

  @inlinable
  init(action: R.Action, receipt: Receipt<R.State>?, lane: Lane?, signal: CancelSignal?) {
    self.action = action
    self.receipt = receipt
    self.lane = lane
    self.signal = signal
  }
}

/// What runs in a lane and what waits for it.
@usableFromInline
struct LaneQueue<R: Reactor> {
  @usableFromInline typealias Waiting = (action: R.Action, receipt: Receipt<R.State>?)

  @usableFromInline var running: [EffectID] = []
  /// Cancelled, but not at their end yet.
  @usableFromInline var unwinding: [EffectID] = []
  @usableFromInline var waiting = FirstInFirstOut<Waiting>()

  @inlinable
  init() {}

  /// Something of the lane runs that nobody cancelled, or will.
  @inlinable var isTaken: Bool { !running.isEmpty || !waiting.isEmpty }

  /// Nothing of the lane runs any more, cancelled or not.
  @inlinable var isQuiet: Bool { running.isEmpty && unwinding.isEmpty }

  /// Counts what runs as cancelled, and says what that was.
  @inlinable
  mutating func cancelAll() -> [EffectID] {
    defer { running = [] }
    unwinding += running
    return running
  }

  @inlinable
  mutating func remove(_ id: EffectID) {
    running.removeAll { $0 == id }
    unwinding.removeAll { $0 == id }
  }
}
