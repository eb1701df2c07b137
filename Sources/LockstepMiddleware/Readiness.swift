import LockstepHTTP
import LockstepLogging
import LockstepThreading
import Synchronization

/// Whether requests should be sent here.
package final class Readiness: Sendable {
  /// How long the store may take to show that it can be written: less than those who ask wait, `lockstep health` among them.
  static let patience = Duration.milliseconds(1500)

  /// The store took longer than that.
  struct TooSlow: Error, CustomStringConvertible {
    var description: String { "it takes longer than \(Readiness.patience)" }
  }

  private typealias Outcome = Result<Void, any Error>

  private struct State: Sendable {
    /// The check that runs.
    var running: Int?
    /// Whether that has taken too long already.
    var isLate = false
    var waiting: [CheckedContinuation<Outcome, Never>] = []
    /// How many checks there have been.
    var checks = 0
  }

  private let isDraining = Atomic(false)
  private let wasWritable = Atomic(true)
  private let state = LockedState(State())
  private let checkStore: @Sendable () async throws -> Void
  private let clock: any Clock<Duration>
  private let logger: Logger

  /// Ready when `checkStore` succeeds, which writes to the store, in time by this clock.
  package init(logger: Logger, clock: any Clock<Duration>, checkStore: @escaping @Sendable () async throws -> Void) {
    self.logger = logger
    self.clock = clock
    self.checkStore = checkStore
  }

  /// From now on the server isn't ready: it stops.
  package func beginDraining() {
    isDraining.store(true, ordering: .relaxed)
  }

  /// Throws a problem that says what is not ready.
  package func check() async throws {
    guard !isDraining.load(ordering: .relaxed) else { throw Self.problem("The server is about to stop.", of: "server") }
    do {
      try await outcome().get()
    } catch {
      // Once for each time it stops working: those who ask are many, and some ask every second.
      if wasWritable.exchange(false, ordering: .relaxed) {
        logger.log(.error, "the store can't be written", ["error": .string("\(error)")])
      }
      throw Self.problem("The store can't be written. The server's log has the reason.", of: "store")
    }
    if !wasWritable.exchange(true, ordering: .relaxed) { logger.log(.info, "the store can be written again") }
  }

  // MARK: Not waiting for a store that hangs

  /// What a check of the store gives, or that it takes too long.
  ///
  /// One check runs at a time, whoever asks shares it. It can't be broken off: one that takes too long goes on, while those who
  /// wait for it are told so, and whoever asks until it's over is told at once. So of however many have asked nothing is left but
  /// the one check.
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
      tell(.failure(TooSlow()), of: check, isOver: false)
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
      tell(outcome, of: check, isOver: true)
    }
  }

  /// Tells those who wait for a check; nobody, where that is over already.
  private func tell(_ outcome: Outcome, of check: Int, isOver: Bool) {
    let waiting = state.withLock { state -> [CheckedContinuation<Outcome, Never>] in
      guard state.running == check else { return [] }
      if isOver { state.running = nil }
      state.isLate = !isOver
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: outcome) }
  }

  /// `part` is what isn't ready, for machines.
  private static func problem(_ detail: String, of part: String) -> Problem {
    var problem = Problem(.overloaded, detail: detail, members: [("notReady", [.string(part)])])
    problem.fields.append(.retryAfter, "1")
    return problem
  }
}
