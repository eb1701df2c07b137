import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepReactor
import LockstepThreading

/// Runs the reactor of one screen, whatever type the reactor has.
package protocol ScreenEngine: AnyObject, Sendable {
  /// The state that clients see now.
  var shown: EncodedState { get }
  /// The number of the state that clients see now, without encoding the state.
  var number: UInt64 { get }
  var failures: ScreenFailures { get }
  /// How many effects do work that takes time.
  var runningEffects: Int { get }

  /// Reads the actions of one step.
  ///
  /// If actions cannot be read, throws one refusal. It has their faults, at most as many as a problem lists,
  /// and the index of the first action with a fault.
  func read(_ actions: [JSON], from network: ClientNetwork) throws(StepRefusal) -> ScreenStep

  /// Runs until the screen is closed. Returns when all its effects have ended.
  func run() async

  func close()
}

/// Actions of a screen that were read.
package struct ScreenStep: Sendable {
  fileprivate let run: @Sendable (_ isWanted: @escaping @Sendable (UInt64) -> Bool) async throws -> Void

  /// Performs the actions as one step. It returns when all immediate changes are shown.
  ///
  /// At the step's turn, `isWanted` is called with the number of the present state. If `isWanted` returns
  /// false, no action is performed.
  ///
  /// - Throws: `StepRefusal`, `StepConditionError`, `AdmissionError`; `CancellationError` when the
  ///   screen ends.
  package func perform(isWanted: @escaping @Sendable (_ number: UInt64) -> Bool) async throws {
    try await run(isWanted)
  }
}

/// A state as clients see it.
package struct EncodedState: Sendable {
  /// The first state that clients see has the number 1, the next one 2.
  package let number: UInt64
  package let encoded: [UInt8]
}

/// The callbacks of a running screen. They run on the thread that caused the event.
struct ScreenObserver: Sendable {
  /// Clients see a new state, or an effect has begun or ended.
  let changed: @Sendable () -> Void
  let failed: @Sendable (ScreenFailure) -> Void
}

final class HostedScreen<R: Reactor>: ScreenEngine {
  /// The newest state. It is encoded when the first client reads it. A short encoding is kept for
  /// the other clients. A long encoding is not kept, because it takes several times as much memory
  /// as the state.
  private struct Slot: Sendable {
    var number: UInt64 = 1
    var state: R.State
    var encoded: [UInt8]?
    var runningEffects = 0
  }

  /// The longest encoding that is kept, in bytes.
  static var keptLength: Int { 4_096 }

  /// How many steps may wait or have a running effect.
  static var capacity: Int { 256 }

  private let slot: LockedState<Slot>
  private let host: ReactorHost<R>
  private let actions: [ActionCase<R.Action>]
  private let format: ValueFormat<R.State>
  private let errors: ErrorAction

  /// `changed` is called when clients see a new state, or when an effect has begun or ended.
  init(
    _ reactor: R,
    _ actions: [ActionCase<R.Action>],
    _ format: ValueFormat<R.State>,
    _ errors: ErrorAction,
    changed: @escaping @Sendable () -> Void
  ) {
    let slot = LockedState(Slot(state: reactor.initialState))
    (self.slot, self.actions, self.format, self.errors) = (slot, actions, format, errors)
    // Called while mutations are reduced, so a state is in the slot before its step returns.
    host = ReactorHost(reactor, capacity: Self.capacity) { trace in
      switch trace {
      case .state(let state):
        let replaced = slot.withLock { slot -> R.State in
          defer { (slot.number, slot.state, slot.encoded) = (slot.number + 1, state, nil) }
          return slot.state
        }
        withExtendedLifetime(replaced) {}
        changed()
      case .failure(let failure):
        errors.report(ScreenFailure(failure))
      case .effectStarted:
        slot.withLock { $0.runningEffects += 1 }
        changed()
      case .effectEnded:
        slot.withLock { $0.runningEffects -= 1 }
        changed()
      default: break
      }
    }
    let initial = host.currentState
    slot.withLock { $0.state = initial }
  }

  var shown: EncodedState {
    let (number, state, known) = slot.withLock { ($0.number, $0.state, $0.encoded) }
    if let known { return EncodedState(number: number, encoded: known) }
    let encoded = format.encode(state).encoded()
    if encoded.count <= Self.keptLength { slot.withLock { if $0.number == number { $0.encoded = encoded } } }
    return EncodedState(number: number, encoded: encoded)
  }

  var number: UInt64 { slot.withLock { $0.number } }

  var failures: ScreenFailures { errors.reported }

  var runningEffects: Int { slot.withLock { $0.runningEffects } }

  private func perform(_ actions: [R.Action], isWanted: @escaping @Sendable (_ number: UInt64) -> Bool) async throws {
    let slot = slot
    do {
      try await host.perform(actions) { isWanted(slot.withLock { $0.number }) }
    } catch let refusal as StepRefusal {
      // A `Refusal` is a mistake of the client, which the response explains. Any other error is a failure of
      // the server.
      if !(refusal.reason is Refusal) {
        errors.report(ScreenFailure(origin: "action", error: refusal.reason))
      }
      throw refusal
    }
  }

  func read(_ actions: [JSON], from network: ClientNetwork) throws(StepRefusal) -> ScreenStep {
    var read: [R.Action] = []
    var faults: [FieldFault] = []
    var firstFailed: Int?
    for (index, action) in actions.enumerated() where faults.count < Problem.mostErrors {
      do throws(Refusal) {
        read.append(try self.actions.read(action, from: network))
      } catch {
        firstFailed = firstFailed ?? index
        if case .invalid(let found) = error.moved(under: "/\(index)") { faults += found }
      }
    }
    guard let firstFailed else { return ScreenStep { [self, read] in try await perform(read, isWanted: $0) } }
    throw StepRefusal(index: firstFailed, reason: UnreadableActionsError(faults: faults))
  }

  func run() async { await host.run() }
  func close() { host.close() }
}

/// The faults of actions that the server cannot read. Pointers begin with the action's index.
package struct UnreadableActionsError: Error {
  package let faults: [FieldFault]
}
