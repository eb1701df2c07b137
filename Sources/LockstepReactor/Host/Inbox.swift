import Synchronization

/// The inputs of the reducing loop, which handles one at a time in the order of arrival.
@usableFromInline
enum Input<R: Reactor>: Sendable {
  case action(R.Action, Receipt<R.State>?)
  case step(Step<R>)
  case emitted(R.Mutation, by: EffectID, Acknowledgement)
  case ended(EffectID, (any Error)?)
  case mergedAction(R.Action, Acknowledgement?)
  case mergedMutation(R.Mutation, Acknowledgement)
  case mergedState(R.State, Acknowledgement)
  /// The merged values with this index may have a new value.
  case changed(Int)
  case failed(ReactorFailure<R.Action>, Acknowledgement)
}

@usableFromInline typealias EffectID = UInt64

/// Resumes an input's sender: `true` when the loop handled the input, `false` when it was dropped.
@usableFromInline typealias Acknowledgement = CheckedContinuation<Bool, Never>

/// Whether a host queued an action.
public enum SendResult: Sendable, Hashable {
  /// The host handles the action after all that were sent before it.
  case accepted
  /// The host is at its capacity: too many actions wait or have a running effect. It did not queue
  /// the action.
  case full
  /// The host is closed.
  case closed

  @inlinable
  func check() throws(AdmissionError) {
    switch self {
    case .accepted: break
    case .full: throw .full
    case .closed: throw .closed
    }
  }
}

/// The queue of all inputs of a reactor, in the order of sending.
///
/// The capacity counts an action from `send` until its effect has ended. Other inputs need no
/// limit, because effects and merged streams wait until their input is handled.
@usableFromInline
final class Inbox<R: Reactor>: Sendable {
  @usableFromInline
  struct Contents: Sendable {
    @usableFromInline var hasLoop = false
    @usableFromInline var inputs: [Input<R>] = []
    @usableFromInline var admitted = 0

    @inlinable
    init() {}
  }

  @usableFromInline let contents: AwaitableState<Contents>
  @usableFromInline let capacity: Int
  /// Set under the lock of the contents, so that a closed inbox queues nothing. Read without the
  /// lock.
  @usableFromInline let closed = Atomic<Bool>(false)
  /// How many admitted actions are settled. Only the loop writes it, so it needs no lock.
  @usableFromInline let settled = Atomic<Int>(0)

  @inlinable
  init(capacity: Int) {
    self.capacity = capacity
    contents = AwaitableState(Contents())
  }

  @inlinable
  var isClosed: Bool { closed.load(ordering: .acquiring) }

  @inlinable
  func admit(_ input: Input<R>) -> SendResult {
    contents.change { contents in
      if isClosed { return .closed }
      if contents.admitted - settled.load(ordering: .acquiring) >= capacity { return .full }
      contents.admitted += 1
      // Appends in place, because a copy of the queue would make sending quadratic.
      contents.inputs.append(input)
      return .accepted
    }
  }

  @inlinable
  func admitMerged(_ action: R.Action) async -> SendResult {
    var result = SendResult.closed
    _ = await withCheckedContinuation { (acknowledgement: Acknowledgement) in
      result = admit(.mergedAction(action, acknowledgement))
      if result != .accepted { acknowledgement.resume(returning: false) }
    }
    return result
  }

  /// Queues an input; returns when it was handled. Throws if it was dropped.
  @inlinable
  func deliver(_ input: (Acknowledgement) -> Input<R>) async throws(CancellationError) {
    let isHandled = await withCheckedContinuation { acknowledgement in
      let isTaken = post(input(acknowledgement))
      if !isTaken { acknowledgement.resume(returning: false) }
    }
    if !isHandled { throw CancellationError() }
  }

  /// Reports a failure and waits until the loop handled it, so that reports cannot pile up.
  func report(_ origin: ReactorFailure<R.Action>.Origin, _ error: any Error) async {
    try? await deliver { .failed(ReactorFailure(origin: origin, error: error), $0) }
  }

  @discardableResult
  @inlinable
  func post(_ input: Input<R>) -> Bool {
    contents.change { contents in
      if isClosed { return false }
      contents.inputs.append(input)
      return true
    }
  }

  /// Makes room for another action. Only the loop calls it, before it settles the action's receipt.
  @inlinable
  func settleOne() {
    settled.store(settled.load(ordering: .relaxed) + 1, ordering: .releasing)
  }

  /// Returns `true` to the first caller, which then runs the loop. Returns `false` to every other
  /// caller, and after `close()`.
  @inlinable
  func open() -> Bool {
    contents.withState { contents in
      if isClosed || contents.hasLoop { return false }
      contents.hasLoop = true
      return true
    }
  }

  /// Waits for inputs and swaps them with the empty `batch`; `false` when the loop must end.
  @inlinable
  func take(into batch: inout [Input<R>]) async -> Bool {
    let isOpen = await contents.wait { contents -> Bool? in
      if isClosed { return false }
      if contents.inputs.isEmpty { return nil }
      swap(&contents.inputs, &batch)
      return true
    }
    return isOpen ?? false
  }

  /// Refuses further inputs and drops those in the queue. Returns whether a loop runs.
  @discardableResult
  @inlinable
  func close() -> Bool {
    let (hasLoop, abandoned) = contents.change { contents in
      closed.store(true, ordering: .releasing)
      let inputs = contents.inputs
      contents.inputs = []
      return (contents.hasLoop, inputs)
    }
    for input in abandoned { input.abandon() }
    return hasLoop
  }
}

extension Input {
  /// Resumes the tasks that wait for this input, which will not be handled.
  @inlinable
  func abandon() {
    switch self {
    case .action(_, let receipt):
      receipt?.settle(.failure(CancellationError()))
    case .step(let step):
      step.receipt.settle(.failure(CancellationError()))
    case .emitted(_, _, let acknowledgement), .mergedMutation(_, let acknowledgement),
      .mergedState(_, let acknowledgement), .failed(_, let acknowledgement):
      acknowledgement.resume(returning: false)
    case .mergedAction(_, let acknowledgement):
      acknowledgement?.resume(returning: false)
    case .ended, .changed:
      break
    }
  }
}
