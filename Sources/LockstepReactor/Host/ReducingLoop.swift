/// The single writer of a reactor's state.
///
/// The loop alone owns the state, the running effects and the lanes, so none of them needs a lock.
/// It handles one input after another and never suspends in between.
@usableFromInline
struct ReducingLoop<R: Reactor> {
  @usableFromInline let reactor: R
  @usableFromInline let flows: Flows<R>
  @usableFromInline let outputs: HostOutputs<R>
  @usableFromInline let inbox: Inbox<R>

  @usableFromInline var state: R.State
  /// The state that observers saw last.
  @usableFromInline var shown: R.State
  @usableFromInline var running: [EffectID: RunningEffect<R>] = [:]
  @usableFromInline var lanes: [Lane: LaneQueue<R>] = [:]
  @usableFromInline var lastEffect: EffectID = 0
  @usableFromInline var followed: [FollowedValues<R>] = []

  @inlinable
  init(reactor: R, flows: Flows<R>, outputs: HostOutputs<R>, inbox: Inbox<R>) {
    self.reactor = reactor
    self.flows = flows
    self.outputs = outputs
    self.inbox = inbox
    state = reactor.initialState
    shown = outputs.states.value
  }

  @inlinable
  mutating func handle(_ input: Input<R>, _ group: inout DiscardingTaskGroup) {
    // Checked before each input, because closing also drops inputs that the loop has already taken.
    if inbox.isClosed { return input.abandon() }
    switch input {
    case .action(let action, let receipt):
      guard let transformed = flows.action.transformed(action) else { return ignore(action, receipt) }
      admit(transformed, receipt, &group)
    case .step(let step):
      admit(step, &group)
    case .mergedAction(let action, let acknowledgement):
      admit(action, nil, &group)
      acknowledgement?.resume(returning: true)
    case .emitted(let mutation, let id, let acknowledgement):
      let isWanted = running[id]?.isCancelled == false
      if isWanted { applyTransformed(mutation) }
      acknowledgement.resume(returning: isWanted)
    case .mergedMutation(let mutation, let acknowledgement):
      apply(mutation)
      acknowledgement.resume(returning: true)
    case .mergedState(let state, let acknowledgement):
      show(state)
      acknowledgement.resume(returning: true)
    case .changed(let index):
      readValues(at: index, &group)
    case .ended(let id, let error):
      end(id, error, &group)
    case .failed(let failure, let acknowledgement):
      report(failure)
      acknowledgement.resume(returning: true)
    }
  }

  /// Settles the receipts that are open when the host closes, and stops following values. Called
  /// when all effects have ended.
  @inlinable
  mutating func abandon() {
    stopFollowing()
    // Sorted, because the order of a dictionary differs from run to run.
    for (_, effect) in running.sorted(by: { $0.key < $1.key }) {
      if case .action(let receipt?) = effect.owner { receipt.settle(.failure(CancellationError())) }
    }
    for (_, var queue) in lanes.sorted(by: { $0.key.description < $1.key.description }) {
      while let next = queue.waiting.removeFirst() { next.receipt?.settle(.failure(CancellationError())) }
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
      start(action, receipt, lane: nil, &group)
    case .latest(let lane):
      cancelEffects(of: lane)
      start(action, receipt, lane: lane, &group)
    case .first(let lane):
      if lanes[lane]?.isTaken == true { return ignore(action, receipt) }
      start(action, receipt, lane: lane, &group)
    case .serial(let lane):
      if lanes[lane] == nil {
        start(action, receipt, lane: lane, &group)
      } else {
        lanes[lane]?.waiting.append(.action(action, receipt))
      }
    }
  }

  @inlinable
  mutating func cancelEffects(of lane: Lane) {
    guard let ids = lanes[lane]?.cancelAll() else { return }
    for id in ids {
      running[id]?.isCancelled = true
      running[id]?.signal?.change { $0 = true }
    }
  }

  @inlinable
  func ignore(_ action: R.Action, _ receipt: Receipt<R.State>?) {
    outputs.trace?(.ignored(action))
    settle(receipt, nil)
  }
}

// MARK: Effects

extension ReducingLoop {
  @inlinable
  mutating func start(
    _ action: R.Action,
    _ receipt: Receipt<R.State>?,
    lane: Lane?,
    _ group: inout DiscardingTaskGroup
  ) {
    outputs.trace?(.action(action))
    let effect = reactor.mutate(action, in: state)
    switch effect.immediate {
    case .none: break
    case .one(let mutation): applyTransformed(mutation)
    case .many(let mutations): for mutation in mutations { applyTransformed(mutation) }
    }
    switch effect.rest {
    case .none:
      settle(receipt, nil)
    case .failure(let error):
      report(ReactorFailure(origin: .action(action), error: error))
      settle(receipt, error)
    case .operation(let operation):
      receipt?.markReduced(state)
      launch(operation, of: action, .action(receipt), lane: lane, &group)
    }
  }

  @inlinable
  mutating func launch(
    _ operation: @escaping Effect<R.Mutation>.Operation,
    of action: R.Action,
    _ owner: EffectOwner<R>,
    lane: Lane?,
    _ group: inout DiscardingTaskGroup
  ) {
    lastEffect += 1
    let id = lastEffect
    let signal = lane == nil ? nil : CancelSignal(false)
    running[id] = RunningEffect(action: action, owner: owner, lane: lane, signal: signal)
    if let lane { lanes[lane, default: LaneQueue()].running.append(id) }
    outputs.trace?(.effectStarted(action, effect: id))
    group.addTask { [inbox] in
      let emit = Emitter<R.Mutation> { mutation in
        try Task.checkCancellation()
        try await inbox.deliver { .emitted(mutation, by: id, $0) }
      }
      let error = await Effect.run(operation, emit: emit, cancelledBy: signal)
      inbox.post(.ended(id, error))
    }
  }

  @inlinable
  mutating func end(_ id: EffectID, _ error: (any Error)?, _ group: inout DiscardingTaskGroup) {
    guard let effect = running.removeValue(forKey: id) else { return }
    outputs.trace?(.effectEnded(effect.action, effect: id))
    if let error, !effect.isCancelled { report(ReactorFailure(origin: .action(effect.action), error: error)) }
    switch effect.owner {
    case .action(let receipt):
      settle(receipt, effect.isCancelled ? CancellationError() : error)
    case .step(let progress):
      progress.openEffects -= 1
      if progress.openEffects == 0 { inbox.settleOne() }
    }
    if let lane = effect.lane {
      lanes[lane]?.remove(id)
      startWaiting(in: lane, &group)
    }
  }

  /// Starts actions and steps that wait for a lane, until it runs an effect or the host closes.
  @inlinable
  mutating func startWaiting(in lane: Lane, _ group: inout DiscardingTaskGroup) {
    var freed = [lane]
    while let lane = freed.last {
      guard lanes[lane]?.isQuiet == true, !inbox.isClosed else {
        freed.removeLast()
        continue
      }
      switch lanes[lane]?.waiting.first {
      case nil:
        lanes[lane] = nil
      case .action(let action, let receipt):
        _ = lanes[lane]?.waiting.removeFirst()
        start(action, receipt, lane: lane, &group)
      case .step(let step, let serialLanes):
        guard isTurn(of: step, in: serialLanes) else {
          freed.removeLast()
          continue
        }
        for lane in serialLanes { _ = lanes[lane]?.waiting.removeFirst() }
        start(step, &group)
        freed += serialLanes
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
    outputs.trace?(.failure(failure))
    outputs.failures.dispatch(failure)
  }
}

// MARK: State

extension ReducingLoop {
  @inlinable
  mutating func applyTransformed(_ mutation: R.Mutation) {
    if let transformed = flows.mutation.transformed(mutation) { apply(transformed) }
  }

  @inlinable
  mutating func apply(_ mutation: R.Mutation) {
    R.reduce(&state, mutation)
    outputs.trace?(.mutation(mutation))
    if let transformed = flows.state.transformed(state) { show(transformed) }
  }

  @inlinable
  mutating func show(_ state: R.State) {
    if state == shown { return }
    shown = state
    outputs.trace?(.state(state))
    outputs.states.publish(state)
  }
}

@usableFromInline
struct Flows<R: Reactor>: Sendable {
  @usableFromInline let action: Flow<R.Action>
  @usableFromInline let mutation: Flow<R.Mutation>
  @usableFromInline let state: Flow<R.State>

  init(of reactor: R) {
    action = reactor.transform(action: Flow())
    mutation = reactor.transform(mutation: Flow())
    state = reactor.transform(state: Flow())
  }
}

/// The destinations to which the loop publishes states and failures.
@usableFromInline
struct HostOutputs<R: Reactor>: Sendable {
  @usableFromInline let states: Latest<R.State>
  @usableFromInline let failures = DispatchSubject<ReactorFailure<R.Action>>()
  @usableFromInline let trace: (@Sendable (ReactorTrace<R>) -> Void)?

  @inlinable
  func finish() {
    states.finish()
    failures.finish()
  }
}
