import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepThreading

/// What a screen runs on, whatever its reactor.
package protocol ScreenEngine: AnyObject, Sendable {
  /// What it shows now.
  var shown: EncodedState { get }

  /// Which of its states that is, without a look at it.
  var number: UInt64 { get }

  /// Has actions done as one step, and returns when all that they cause at once is shown.
  ///
  /// - Parameters:
  ///   - actions: Actions as clients send them; each is read before any is done.
  ///   - network: Where they come from.
  ///   - isWanted: Whether to do them where a state of this number is shown.
  /// - Throws: `StepRefused` with a `Refusal`, `StepUnwanted`; `AdmissionError`; `CancellationError` when the screen ends.
  func act(
    _ actions: [JSON],
    from network: ClientNetwork,
    isWanted: @escaping @Sendable (_ number: UInt64) -> Bool
  ) async throws

  /// Runs until it's closed; returns when all that it has begun has ended.
  func run() async

  /// Ends it.
  func close()
}

/// A state as clients see it.
package struct EncodedState: Sendable {
  /// Counts the states shown, from 1.
  package let number: UInt64
  /// Its JSON.
  package let encoded: [UInt8]
}

/// A reactor that runs as a screen.
final class HostedScreen<R: Reactor>: ScreenEngine {
  /// What was shown last. It's encoded when somebody asks: a short one once for all who do. A long one is made anew each time: kept, it
  /// would take several times as much memory as the state.
  private struct Slot: Sendable {
    var number: UInt64 = 1
    var state: R.State
    var encoded: [UInt8]?
  }

  /// How long an encoding may be to be kept.
  static var keptLength: Int { 4_096 }

  /// How many steps may be unsettled: waiting, or with work that takes time.
  static var capacity: Int { 256 }

  private let slot: LockedState<Slot>
  private let host: ReactorHost<BatchReactor<R>>
  private let declaration: ScreenDeclaration<R>

  init(_ reactor: R, _ declaration: ScreenDeclaration<R>, stateShown: @escaping @Sendable () -> Void) {
    let slot = LockedState(Slot(state: reactor.initialState))
    self.slot = slot
    self.declaration = declaration
    // Told by the reducing loop itself: once a step is reduced, what it has shown is in the slot.
    host = ReactorHost(BatchReactor(base: reactor), capacity: Self.capacity) { trace in
      guard case .state(let state) = trace else { return }
      let replaced = slot.withLock { slot -> R.State in
        defer { slot = Slot(number: slot.number + 1, state: state) }
        return slot.state
      }
      withExtendedLifetime(replaced) {}
      stateShown()
    }
  }

  var shown: EncodedState {
    let (number, state, known) = slot.withLock { ($0.number, $0.state, $0.encoded) }
    if let known { return EncodedState(number: number, encoded: known) }
    let encoded = declaration.state.encode(state).encoded()
    if encoded.count <= Self.keptLength { slot.withLock { if $0.number == number { $0.encoded = encoded } } }
    return EncodedState(number: number, encoded: encoded)
  }

  var number: UInt64 { slot.withLock { $0.number } }

  func act(
    _ actions: [JSON],
    from network: ClientNetwork,
    isWanted: @escaping @Sendable (_ number: UInt64) -> Bool
  ) async throws {
    let slot = slot
    let step = BatchReactor<R>.Action(actions: try read(actions, from: network)) {
      isWanted(slot.withLock { $0.number })
    }
    _ = try await host.submit(step).reduced()
  }

  /// Throws the faults of all actions, each at its place among them, as those of the first that has one.
  private func read(_ actions: [JSON], from network: ClientNetwork) throws(StepRefused) -> [R.Action] {
    var read: [R.Action] = []
    var faults: [FieldFault] = []
    var firstFailed: Int?
    for (index, action) in actions.enumerated() {
      do throws(Refusal) {
        read.append(try declaration.actions.read(action, from: network))
      } catch {
        firstFailed = firstFailed ?? index
        if case .invalid(let found) = error.moved(under: "/\(index)") { faults += found }
      }
    }
    guard let firstFailed else { return read }
    throw StepRefused(index: firstFailed, reason: UnreadableActionsError(faults: faults))
  }

  func run() async { await host.run() }
  func close() { host.close() }
}

/// Actions can't be read: all faults of all of them, by their places among them.
package struct UnreadableActionsError: Error {
  package let faults: [FieldFault]
}
