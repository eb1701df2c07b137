/// What the reducing loop is told, one at a time, in the order in which it was told.
@usableFromInline
enum Input<R: Reactor>: Sendable {
  case action(R.Action, Receipt<R.State>?)
  case emitted(R.Mutation, by: EffectID, Rendezvous)
  case ended(EffectID, (any Error)?)
  case mergedAction(R.Action, Rendezvous)
  case mergedMutation(R.Mutation, Rendezvous)
  case mergedState(R.State, Rendezvous)
  case failed(ReactorFailure<R.Action>)
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
  enum Phase: Sendable { case idle, running, closed }

  @usableFromInline
  struct Contents: Sendable {
    @usableFromInline var phase = Phase.idle
    @usableFromInline var inputs: [Input<R>] = []
    @usableFromInline var unsettled = 0

    @inlinable
    init() {}
  }

  @usableFromInline let contents: Monitor<Contents>
  @usableFromInline let capacity: Int

  @inlinable
  init(capacity: Int) {
    self.capacity = capacity
    contents = Monitor(Contents())
  }

  @inlinable
  func admit(_ action: R.Action, receipt: Receipt<R.State>?) -> Admission {
    contents.change { contents in
      admission(contents) {
        contents.inputs.append(.action(action, receipt))
        contents.unsettled += 1
      }
    }
  }

  /// An action of a merged stream; returns when it was handled.
  @inlinable
  func admitMerged(_ action: R.Action) async -> Admission {
    var admission = Admission.closed
    _ = await withCheckedContinuation { (rendezvous: Rendezvous) in
      admission = contents.change { contents in
        self.admission(contents) {
          contents.inputs.append(.mergedAction(action, rendezvous))
          contents.unsettled += 1
        }
      }
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

  @discardableResult
  @inlinable
  func post(_ input: Input<R>) -> Bool {
    contents.change { contents in
      guard contents.phase != .closed else { return false }
      contents.inputs.append(input)
      return true
    }
  }

  /// True for the first who wants to run the loop.
  @inlinable
  func open() -> Bool {
    contents.withState { contents in
      guard contents.phase == .idle else { return false }
      contents.phase = .running
      return true
    }
  }

  /// Waits for inputs and swaps them with the emptied `batch`; false when the loop must end.
  @inlinable
  func take(into batch: inout [Input<R>], settled: Int) async -> Bool {
    contents.withState { $0.unsettled -= settled }
    let isOpen = await contents.wait { contents -> Bool? in
      // Cancellation ends the loop even while inputs keep coming.
      if contents.phase == .closed || Task.isCancelled { return false }
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
    let (wasRunning, abandoned) = contents.change { contents in
      let wasRunning = contents.phase == .running
      contents.phase = .closed
      let inputs = contents.inputs
      contents.inputs = []
      return (wasRunning, inputs)
    }
    for input in abandoned { input.abandon() }
    return wasRunning
  }

  @inlinable
  func admission(_ contents: Contents, accept: () -> Void) -> Admission {
    if contents.phase == .closed { return .closed }
    if contents.unsettled >= capacity { return .full }
    accept()
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
    case .emitted(_, _, let rendezvous), .mergedAction(_, let rendezvous),
      .mergedMutation(_, let rendezvous), .mergedState(_, let rendezvous):
      rendezvous.resume(returning: false)
    case .ended, .failed:
      break
    }
  }
}
