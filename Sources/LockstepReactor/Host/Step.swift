/// Actions that the host handles together: all of them, or none if one is refused at once.
@usableFromInline
struct Step<R: Reactor>: Sendable {
  /// In their order; `nil` where `transform(action:)` dropped one.
  @usableFromInline var actions: [R.Action?]
  /// The condition, checked when the step's turn comes.
  @usableFromInline let isWanted: @Sendable () -> Bool
  @usableFromInline let receipt: Receipt<R.State>
}

/// How many effects of a step have not ended. Only the reducing loop uses it.
@usableFromInline
final class StepProgress {
  @usableFromInline var openEffects: Int

  init(openEffects: Int) { self.openEffects = openEffects }
}

/// An action was refused at once, so the whole step was refused.
package struct StepRefusal: Error {
  package let index: Int
  package let reason: any Error

  package init(index: Int, reason: any Error) {
    self.index = index
    self.reason = reason
  }
}

/// The condition of a step did not hold when its turn came.
package struct StepConditionError: Error {}

extension ReactorHost {
  /// Handles actions as one step; returns when the mutations that they cause at once are reduced.
  ///
  /// Each action sees the mutations of the earlier ones. If one is refused at once, the host throws
  /// ``StepRefusal`` and nothing changes. Effects start when all actions are decided, each by the
  /// policy of its action. Observers see one new state. A step with serial actions waits until all
  /// their lanes are free. Inside a step, the effects of a serial lane run one after another.
  package func perform(_ actions: [R.Action], if isWanted: @escaping @Sendable () -> Bool) async throws {
    let step = Step<R>(actions: actions, isWanted: isWanted, receipt: Receipt())
    try inbox.admit(.step(step)).check()
    _ = try await step.receipt.reduced()
  }
}

extension ReducingLoop {
  @usableFromInline
  mutating func admit(_ step: Step<R>, _ group: inout DiscardingTaskGroup) {
    var step = step
    step.actions = step.actions.map { action in
      let transformed = action.flatMap { flows.action.transformed($0) }
      if let action, transformed == nil { outputs.trace?(.ignored(action)) }
      return transformed
    }
    var serialLanes: [Lane] = []
    for case let action? in step.actions {
      guard case .serial(let lane) = reactor.policy(for: action), !serialLanes.contains(lane) else { continue }
      serialLanes.append(lane)
    }
    if serialLanes.allSatisfy({ lanes[$0] == nil }) { return start(step, &group) }
    for lane in serialLanes { lanes[lane, default: LaneQueue()].waiting.append(.step(step, serialLanes)) }
  }

  /// Whether all lanes of a waiting step are free and have the step at the head of their queues.
  @usableFromInline
  func isTurn(of step: Step<R>, in serialLanes: [Lane]) -> Bool {
    serialLanes.allSatisfy { lane in
      guard let queue = lanes[lane], queue.isQuiet, let first = queue.waiting.first else { return false }
      return first.receipt === step.receipt
    }
  }

  @usableFromInline
  mutating func start(_ step: Step<R>, _ group: inout DiscardingTaskGroup) {
    guard step.isWanted() else { return refuse(step, StepConditionError()) }
    // A single action is refused before it changes the state, so only a step of several actions
    // needs the earlier state.
    let stateBefore: R.State? = step.actions.count > 1 ? state : nil
    var decision = StepDecision<R>()
    for (index, action) in step.actions.enumerated() {
      guard let action else { continue }
      let policy = reactor.policy(for: action)
      if case .first(let lane) = policy, isTaken(lane, by: decision) {
        outputs.trace?(.ignored(action))
        continue
      }
      outputs.trace?(.action(action))
      let effect = reactor.mutate(action, in: state)
      if case .failure(let error) = effect.rest {
        if let stateBefore { state = stateBefore }
        return refuse(step, StepRefusal(index: index, reason: error))
      }
      for mutation in effect.immediate.mutations { reduce(mutation, of: &decision) }
      decision.add(effect, of: action, policy)
    }
    apply(decision, &group)
    step.receipt.settle(.success(state))
  }

  private func isTaken(_ lane: Lane, by decision: StepDecision<R>) -> Bool {
    if decision.effects.contains(where: { $0.lane == lane }) { return true }
    return !decision.cancelledLanes.contains(lane) && lanes[lane]?.isTaken == true
  }

  private mutating func reduce(_ mutation: R.Mutation, of decision: inout StepDecision<R>) {
    guard let transformed = flows.mutation.transformed(mutation) else { return }
    R.reduce(&state, transformed)
    decision.mutations.append(transformed)
    if let shown = flows.state.transformed(state) { decision.shown = shown }
  }

  private mutating func apply(_ decision: StepDecision<R>, _ group: inout DiscardingTaskGroup) {
    for lane in decision.cancelledLanes { cancelEffects(of: lane) }
    for mutation in decision.mutations { outputs.trace?(.mutation(mutation)) }
    if let shown = decision.shown { show(shown) }
    if decision.effects.isEmpty { return inbox.settleOne() }
    let progress = StepProgress(openEffects: decision.effects.count)
    for effect in decision.effects {
      launch(effect.operation(inbox), of: effect.action, .step(progress), lane: effect.lane, &group)
    }
  }

  private func refuse(_ step: Step<R>, _ error: any Error) {
    inbox.settleOne()
    step.receipt.settle(.failure(error))
  }
}

private struct StepDecision<R: Reactor> {
  /// One effect, or several that run one after another in their serial lane.
  struct PendingEffect {
    let lane: Lane?
    var parts: [(action: R.Action, operation: Effect<R.Mutation>.Operation)]

    var action: R.Action { parts[parts.count - 1].action }

    func operation(_ inbox: Inbox<R>) -> Effect<R.Mutation>.Operation {
      let last = parts[parts.count - 1].operation
      if parts.count == 1 { return last }
      return { [parts] emit in
        for (action, operation) in parts.dropLast() {
          do {
            try await operation(emit)
          } catch {
            try Task.checkCancellation()
            await inbox.report(.action(action), error)
          }
        }
        try await last(emit)
      }
    }
  }

  var mutations: [R.Mutation] = []
  var cancelledLanes: [Lane] = []
  var effects: [PendingEffect] = []
  /// The newest state that `transform(state:)` lets through.
  var shown: R.State?

  mutating func add(_ effect: Effect<R.Mutation>, of action: R.Action, _ policy: EffectPolicy) {
    var lane: Lane?
    var isSerial = false
    switch policy {
    case .all: break
    case .first(let named): lane = named
    case .serial(let named): (lane, isSerial) = (named, true)
    case .latest(let named):
      lane = named
      cancelledLanes.append(named)
      effects.removeAll { $0.lane == named }
    }
    guard case .operation(let operation) = effect.rest else { return }
    if isSerial, let index = effects.firstIndex(where: { $0.lane == lane }) {
      effects[index].parts.append((action, operation))
    } else {
      effects.append(PendingEffect(lane: lane, parts: [(action, operation)]))
    }
  }
}
