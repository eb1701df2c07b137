/// An effect that takes time.
@usableFromInline
struct RunningEffect<R: Reactor> {
  @usableFromInline let action: R.Action
  @usableFromInline let owner: EffectOwner<R>
  @usableFromInline let lane: Lane?
  @usableFromInline let signal: CancelSignal?
  /// A newer action of the lane has cancelled this effect. The host drops the mutations that the
  /// effect still emits.
  @usableFromInline var isCancelled = false

  @inlinable
  init(action: R.Action, owner: EffectOwner<R>, lane: Lane?, signal: CancelSignal?) {
    self.action = action
    self.owner = owner
    self.lane = lane
    self.signal = signal
  }
}

/// The receipt or the step that is settled when an effect ends.
@usableFromInline
enum EffectOwner<R: Reactor> {
  case action(Receipt<R.State>?)
  case step(StepProgress)
}

/// The effects that one lane runs, and the actions and steps that wait for it.
@usableFromInline
struct LaneQueue<R: Reactor> {
  @usableFromInline
  enum Waiting {
    case action(R.Action, Receipt<R.State>?)
    /// A step waits in the queues of all its serial lanes until all these lanes are free.
    case step(Step<R>, [Lane])

    @inlinable var receipt: Receipt<R.State>? {
      switch self {
      case .action(_, let receipt): receipt
      case .step(let step, _): step.receipt
      }
    }
  }

  @usableFromInline var running: [EffectID] = []
  /// Cancelled effects that have not ended yet.
  @usableFromInline var unwinding: [EffectID] = []
  @usableFromInline var waiting = FirstInFirstOut<Waiting>()

  @inlinable
  init() {}

  /// Whether an effect that is not cancelled runs, or an action or a step waits.
  @inlinable var isTaken: Bool { !running.isEmpty || !waiting.isEmpty }

  /// Whether no effect runs, cancelled or not.
  @inlinable var isQuiet: Bool { running.isEmpty && unwinding.isEmpty }

  /// Marks the running effects as cancelled and returns them.
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
