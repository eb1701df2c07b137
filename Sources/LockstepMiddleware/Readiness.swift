import LockstepHTTP
import LockstepLogging
import LockstepThreading
import Synchronization

/// Whether load balancers should send requests to this server.
package final class Readiness: Sendable {
  /// The longest check of the store. `lockstep health` and load balancers wait longer.
  static let patience = Duration.milliseconds(1500)

  struct TooSlow: Error, CustomStringConvertible {
    var description: String { "the check takes longer than \(Readiness.patience)" }
  }

  private typealias Outcome = Result<Void, any Error>

  private struct State: Sendable {
    /// The number of the running check.
    var running: Int?
    var isLate = false
    var waiting: [CheckedContinuation<Outcome, Never>] = []
    /// Also the number of the last check.
    var checks = 0
  }

  private let isDraining = Atomic(false)
  private let wasWritable = Atomic(true)
  private let state = LockedState(State())
  private let checkStore: @Sendable () async throws -> Void
  private let clock: any Clock<Duration>
  private let logger: Logger

  /// Ready if `checkStore`, which writes to the store, succeeds in time.
  package init(logger: Logger, clock: any Clock<Duration>, checkStore: @escaping @Sendable () async throws -> Void) {
    self.logger = logger
    self.clock = clock
    self.checkStore = checkStore
  }

  package func beginDraining() { isDraining.store(true, ordering: .relaxed) }

  /// Throws a problem that names the part that is not ready.
  package func check() async throws {
    guard !isDraining.load(ordering: .relaxed) else { throw Self.problem("The server is stopping.", of: "server") }
    do {
      try await outcome().get()
    } catch {
      // Logged once each time the store stops working, because some load balancers check every
      // second.
      if wasWritable.exchange(false, ordering: .relaxed) {
        logger.log(.error, "the store cannot be written", ["error": .string("\(error)")])
      }
      throw Self.problem("The store cannot be written. The server's log has the reason.", of: "store")
    }
    if !wasWritable.exchange(true, ordering: .relaxed) { logger.log(.info, "the store can be written again") }
  }

  // MARK: Stores that hang

  /// The outcome of a check of the store, or `TooSlow`.
  ///
  /// One check runs at a time, and concurrent callers share it. A check cannot be cancelled. If it
  /// takes too long, its callers get `TooSlow`, and so does each new caller until the check ends.
  private func outcome() async -> Outcome {
    await withCheckedContinuation { continuation in
      let (begun, isLate) = state.withLock { state -> (Int?, Bool) in
        if state.isLate { return (nil, true) }
        state.waiting.append(continuation)
        guard state.running == nil else { return (nil, false) }
        state.checks += 1
        state.running = state.checks
        return (state.checks, false)
      }
      if isLate { continuation.resume(returning: .failure(TooSlow())) }
      if let begun { run(begun) }
    }
  }

  private func run(_ check: Int) {
    let timer = Task {
      guard (try? await clock.sleep(for: Self.patience)) != nil else { return }
      resumeCallers(of: check, .failure(TooSlow()), isOver: false)
    }
    Task {
      let outcome: Outcome
      do {
        try await checkStore()
        outcome = .success(())
      } catch {
        outcome = .failure(error)
      }
      timer.cancel()
      resumeCallers(of: check, outcome, isOver: true)
    }
  }

  /// Resumes the callers that wait for a check, unless it is over already.
  private func resumeCallers(of check: Int, _ outcome: Outcome, isOver: Bool) {
    let waiting = state.withLock { state -> [CheckedContinuation<Outcome, Never>] in
      guard state.running == check else { return [] }
      if isOver { state.running = nil }
      state.isLate = !isOver
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: outcome) }
  }

  private static func problem(_ detail: String, of part: String) -> Problem {
    var problem = Problem.overloaded(detail)
    problem.members = [("notReady", [.string(part)])]
    return problem
  }
}
