import Synchronization

/// What the reducing loop is told, one at a time, in the order in which it was told.
@usableFromInline
enum Input<R: Reactor>: Sendable {
  case action(R.Action, Receipt<R.State>?)
  case emitted(R.Mutation, by: EffectID, Rendezvous)
  case ended(EffectID, (any Error)?)
  case mergedAction(R.Action, Rendezvous)
  case mergedMutation(R.Mutation, Rendezvous)
  case mergedState(R.State, Rendezvous)
  case failed(ReactorFailure<R.Action>, Rendezvous)
}

/// Numbers the effects of one host.
@usableFromInline typealias EffectID = UInt64

/// Somebody who waits until the loop has handled the input: true when it did, false when it dropped it.
@usableFromInline typealias Rendezvous = CheckedContinuation<Bool, Never>

/// Whether an action was taken on.
public enum Admission: Sendable, Hashable {
  /// It will be handled after all that was sent before it.
  case accepted
  /// As many actions as the host's capacity are not settled yet; nothing was queued.
  case full
  /// The host is closed.
  case closed
}

/// The one way into a reactor: a bounded queue whose order is the order of sending.
///
/// Bounded it is by counting actions from their admission until their effects have ended. All other
/// inputs come from effects and merged streams, each of which waits for its last one to be handled.
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
  /// Raised under the lock of the contents, so that nothing is queued behind the end; read without it
  /// by the loop, before each input.
  @usableFromInline let closed = Atomic<Bool>(false)
  /// How many of the admitted are settled. Only the loop writes it, so a step needs no second lock.
  @usableFromInline let settled = Atomic<Int>(0)

  @inlinable
  init(capacity: Int) {
    self.capacity = capacity
    contents = AwaitableState(Contents())
  }

  @inlinable
  var isClosed: Bool { closed.load(ordering: .acquiring) }

  @inlinable
  func admit(_ action: R.Action, receipt: Receipt<R.State>?) -> Admission {
    contents.change { queue(.action(action, receipt), in: &$0) }
  }

  /// An action of a merged stream; returns when it was handled.
  @inlinable
  func admitMerged(_ action: R.Action) async -> Admission {
    var admission = Admission.closed
    _ = await withCheckedContinuation { (rendezvous: Rendezvous) in
      admission = contents.change { queue(.mergedAction(action, rendezvous), in: &$0) }
      if admission != .accepted { rendezvous.resume(returning: false) }
    }
    return admission
  }

  /// Hands over an input and waits until it was handled; false when it was not.
  @inlinable
  func deliver(_ input: (Rendezvous) -> Input<R>) async -> Bool {
    await withCheckedContinuation { rendezvous in
      let isTaken = post(input(rendezvous))
      if !isTaken { rendezvous.resume(returning: false) }
    }
  }

  /// Reports a failure of a merged stream and waits until that was told, so that reports can't pile up.
  func report(_ origin: ReactorFailure<R.Action>.Origin, _ error: any Error) async {
    _ = await deliver { .failed(ReactorFailure(origin: origin, error: error), $0) }
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

  /// Makes room for another action. For the loop only, before anybody is told that this one is settled.
  @inlinable
  func settleOne() {
    settled.store(settled.load(ordering: .relaxed) + 1, ordering: .releasing)
  }

  /// True for the first who wants to run the loop.
  @inlinable
  func open() -> Bool {
    contents.withState { contents in
      if isClosed || contents.hasLoop { return false }
      contents.hasLoop = true
      return true
    }
  }

  /// Waits for inputs and swaps them with the emptied `batch`; false when the loop must end.
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

  /// Takes nothing more, and gives up what was not handled yet. True when there is a loop to end.
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

  /// To be called under the lock. The queue is changed in place: a copy of it would make sending quadratic.
  @inlinable
  func queue(_ action: consuming Input<R>, in contents: inout Contents) -> Admission {
    if isClosed { return .closed }
    if contents.admitted - settled.load(ordering: .acquiring) >= capacity { return .full }
    contents.admitted += 1
    contents.inputs.append(action)
    return .accepted
  }
}

extension Input {
  /// Tells whoever waits for this input that it will not be handled.
  @inlinable
  func abandon() {
    switch self {
    case .action(_, let receipt):
      receipt?.settle(.failure(CancellationError()))
    case .emitted(_, _, let rendezvous), .mergedAction(_, let rendezvous), .mergedMutation(_, let rendezvous),
      .mergedState(_, let rendezvous), .failed(_, let rendezvous):
      rendezvous.resume(returning: false)
    case .ended:
      break
    }
  }
}
