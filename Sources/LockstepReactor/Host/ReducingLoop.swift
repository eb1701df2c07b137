/// The single writer of a reactor's state.
///
/// It owns the state, the running effects and the lanes; nobody else can reach them, so there is
/// nothing to lock. It handles one input after another and never suspends in between.
@usableFromInline
struct ReducingLoop<R: Reactor> {
  @usableFromInline let reactor: R
  @usableFromInline let stages: Stages<R>
  @usableFromInline let outlets: Outlets<R>
  @usableFromInline let inbox: Inbox<R>

  @usableFromInline var state: R.State
  /// What observers were shown last.
  @usableFromInline var shown: R.State
  @usableFromInline var running: [EffectID: RunningEffect<R>] = [:]
  @usableFromInline var lanes: [Lane: LaneQueue<R>] = [:]
  @usableFromInline var lastEffect: EffectID = 0

  @inlinable
  init(reactor: R, stages: Stages<R>, outlets: Outlets<R>, inbox: Inbox<R>) {
    self.reactor = reactor
    self.stages = stages
    self.outlets = outlets
    self.inbox = inbox
    state = reactor.initialState
    shown = outlets.states.value
  }

  @inlinable
  mutating func handle(_ input: Input<R>, _ group: inout DiscardingTaskGroup) {
    // Asked before each input: what was taken before the end came is given up like what still waited.
    if inbox.isClosed { return input.abandon() }
    switch input {
    case .action(let action, let receipt):
      if let stage = stages.action {
        guard let shaped = stage(action) else { return ignore(action, receipt) }
        admit(shaped, receipt, &group)
      } else {
        admit(action, receipt, &group)
      }
    case .mergedAction(let action, let rendezvous):
      admit(action, nil, &group)
      rendezvous.resume(returning: true)
    case .emitted(let mutation, let id, let rendezvous):
      let isWanted = running[id]?.isCancelled == false
      if isWanted { applyShaped(mutation) }
      rendezvous.resume(returning: isWanted)
    case .mergedMutation(let mutation, let rendezvous):
      apply(mutation)
      rendezvous.resume(returning: true)
    case .mergedState(let state, let rendezvous):
      show(state)
      rendezvous.resume(returning: true)
    case .ended(let id, let error):
      end(id, error, &group)
    case .failed(let failure, let rendezvous):
      report(failure)
      rendezvous.resume(returning: true)
    }
  }

  /// Settles what still runs when the host closes; to be called after every effect has ended.
  @inlinable
  mutating func abandon() {
    // In order of their starts and of the lanes' names: the order of a dictionary differs from run to run.
    for (_, effect) in running.sorted(by: { $0.key < $1.key }) {
      effect.receipt?.settle(.failure(CancellationError()))
    }
    for (_, var traffic) in lanes.sorted(by: { $0.key.description < $1.key.description }) {
      while let next = traffic.waiting.removeFirst() { next.receipt?.settle(.failure(CancellationError())) }
    }
    running = [:]
    lanes = [:]
  }
}

// MARK: Actions and their policies

extension ReducingLoop {
  @inlinable
  mutating func admit(
    _ action: R.Action,
    _ receipt: Receipt<R.State>?,
    _ group: inout DiscardingTaskGroup
  ) {
    switch reactor.policy(for: action) {
    case .all:
      _ = start(action, receipt, lane: nil, &group)
    case .latest(let lane):
      cancelEffects(of: lane)
      enter(lane, action, receipt, &group)
    case .first(let lane):
      if lanes[lane]?.isTaken == true { return ignore(action, receipt) }
      enter(lane, action, receipt, &group)
    case .serial(let lane):
      if lanes[lane] == nil {
        enter(lane, action, receipt, &group)
      } else {
        lanes[lane]?.waiting.append((action, receipt))
      }
    }
  }

  @inlinable
  mutating func enter(
    _ lane: Lane,
    _ action: R.Action,
    _ receipt: Receipt<R.State>?,
    _ group: inout DiscardingTaskGroup
  ) {
    guard let id = start(action, receipt, lane: lane, &group) else { return }
    lanes[lane, default: LaneQueue()].running.append(id)
  }

  @inlinable
  mutating func cancelEffects(of lane: Lane) {
    guard let ids = lanes[lane]?.cancelAll() else { return }
    for id in ids {
      running[id]?.isCancelled = true
      running[id]?.signal?.raise()
    }
  }

  @inlinable
  func ignore(_ action: R.Action, _ receipt: Receipt<R.State>?) {
    outlets.trace?(.ignored(action))
    settle(receipt, nil)
  }
}

// MARK: Effects

extension ReducingLoop {
  /// Returns the number of the effect if it takes time.
  @inlinable
  mutating func start(
    _ action: R.Action,
    _ receipt: Receipt<R.State>?,
    lane: Lane?,
    _ group: inout DiscardingTaskGroup
  ) -> EffectID? {
    outlets.trace?(.action(action))
    let effect = reactor.mutate(action, in: state)
    switch effect.immediate {
    case .none: break
    case .one(let mutation): applyShaped(mutation)
    case .many(let mutations): for mutation in mutations { applyShaped(mutation) }
    }
    switch effect.rest {
    case .none:
      settle(receipt, nil)
      return nil
    case .failure(let error):
      report(ReactorFailure(origin: .action(action), error: error))
      settle(receipt, error)
      return nil
    case .operation(let operation):
      receipt?.markReduced(state)
      return launch(operation, of: action, receipt, lane: lane, &group)
    }
  }

  @inlinable
  mutating func launch(
    _ operation: @escaping Effect<R.Mutation>.Operation,
    of action: R.Action,
    _ receipt: Receipt<R.State>?,
    lane: Lane?,
    _ group: inout DiscardingTaskGroup
  ) -> EffectID {
    lastEffect += 1
    let id = lastEffect
    let signal = lane == nil ? nil : CancelSignal()
    running[id] = RunningEffect(action: action, receipt: receipt, lane: lane, signal: signal)
    outlets.trace?(.effectStarted(action, effect: id))
    group.addTask { [inbox] in
      let emit = Emit<R.Mutation> { mutation in
        try Task.checkCancellation()
        let isReduced = await inbox.deliver { .emitted(mutation, by: id, $0) }
        if !isReduced { throw CancellationError() }
      }
      let error = await Effect.run(operation, emit: emit, cancelledBy: signal)
      inbox.post(.ended(id, error))
    }
    return id
  }

  @inlinable
  mutating func end(_ id: EffectID, _ error: (any Error)?, _ group: inout DiscardingTaskGroup) {
    guard let effect = running.removeValue(forKey: id) else { return }
    outlets.trace?(.effectEnded(effect.action, effect: id))
    if effect.isCancelled {
      settle(effect.receipt, CancellationError())
    } else {
      if let error { report(ReactorFailure(origin: .action(effect.action), error: error)) }
      settle(effect.receipt, error)
    }
    if let lane = effect.lane { leave(lane, id, &group) }
  }

  /// Starts what waits for the lane until something occupies it again, or the end comes.
  @inlinable
  mutating func leave(_ lane: Lane, _ id: EffectID, _ group: inout DiscardingTaskGroup) {
    lanes[lane]?.remove(id)
    while lanes[lane]?.isQuiet == true, !inbox.isClosed {
      guard let next = lanes[lane]?.waiting.removeFirst() else {
        lanes[lane] = nil
        return
      }
      if let id = start(next.action, next.receipt, lane: lane, &group) {
        lanes[lane]?.running.append(id)
      }
    }
  }

  @inlinable
  func settle(_ receipt: Receipt<R.State>?, _ error: (any Error)?) {
    inbox.settleOne()
    guard let receipt else { return }
    receipt.settle(error.map { .failure($0) } ?? .success(state))
  }

  @inlinable
  func report(_ failure: ReactorFailure<R.Action>) {
    outlets.trace?(.failure(failure))
    outlets.failures.dispatch(failure)
  }
}

// MARK: State

extension ReducingLoop {
  @inlinable
  mutating func applyShaped(_ mutation: R.Mutation) {
    guard let stage = stages.mutation else { return apply(mutation) }
    if let shaped = stage(mutation) { apply(shaped) }
  }

  @inlinable
  mutating func apply(_ mutation: R.Mutation) {
    R.reduce(&state, mutation)
    outlets.trace?(.mutation(mutation))
    guard let stage = stages.state else { return show(state) }
    if let shaped = stage(state) { show(shaped) }
  }

  @inlinable
  mutating func show(_ state: R.State) {
    if state == shown { return }
    shown = state
    outlets.trace?(.state(state))
    outlets.states.publish(state)
  }
}

/// The synchronous stages of a reactor's flows.
@usableFromInline
struct Stages<R: Reactor>: Sendable {
  @usableFromInline let action: Flow<R.Action>.Stage?
  @usableFromInline let mutation: Flow<R.Mutation>.Stage?
  @usableFromInline let state: Flow<R.State>.Stage?

  init(_ action: Flow<R.Action>, _ mutation: Flow<R.Mutation>, _ state: Flow<R.State>) {
    self.action = action.stage
    self.mutation = mutation.stage
    self.state = state.stage
  }
}

/// Where the loop tells the world.
@usableFromInline
struct Outlets<R: Reactor>: Sendable {
  @usableFromInline let states: Latest<R.State>
  @usableFromInline let failures: DispatchSubject<ReactorFailure<R.Action>>
  @usableFromInline let trace: (@Sendable (ReactorTrace<R>) -> Void)?

  init(initial: R.State, trace: (@Sendable (ReactorTrace<R>) -> Void)?) {
    states = Latest(initial)
    failures = DispatchSubject()
    self.trace = trace
  }
}
