import LockstepHTTP
import LockstepLogging
import LockstepStore
import LockstepThreading
import Synchronization

/// Whether load balancers should send requests to this server.
package final class Readiness: Sendable {
  /// How long a check of the store may take. `lockstep health` and load balancers wait longer.
  static let patience = Duration.milliseconds(1500)

  struct TooSlow: Error, CustomStringConvertible {
    var description: String { "the check takes longer than \(Readiness.patience)" }
  }

  private let isDraining = Atomic(false)
  private let wasWritable = Atomic(true)
  /// Whether a check of the store is running. A check cannot be cancelled.
  private let isChecking = Atomic(false)
  private let checks = SingleFlight<Int, Void, any Error>()
  private let checkStore: @Sendable () async throws -> Void
  private let clock: any Clock<Duration>
  private let logger: Logger
  private let executor: (any TaskExecutor)?

  /// The server is ready if `checkStore`, which writes to the store, succeeds in time.
  package init(
    logger: Logger,
    clock: any Clock<Duration>,
    executor: (any TaskExecutor)? = nil,
    checkStore: @escaping @Sendable () async throws -> Void
  ) {
    self.logger = logger
    self.clock = clock
    self.executor = executor
    self.checkStore = checkStore
  }

  package func beginDraining() { isDraining.store(true, ordering: .relaxed) }

  /// Throws a problem that names the part that is not ready.
  package func check() async throws {
    guard !isDraining.load(ordering: .relaxed) else { throw Self.problem(Problem.shuttingDown, of: "server") }
    do {
      try await checks.value(of: 0) { try await checkInTime() }
    } catch {
      // Logs a failing store only once, because some load balancers check every second.
      if wasWritable.exchange(false, ordering: .relaxed) {
        if case StoreError.stoodStill = error {
          logger.log(.warning, "the server is not ready", ["reason": .string("\(error)")])
        } else {
          logger.log(.error, "the store cannot be written", ["error": .string("\(error)")])
        }
      }
      throw Self.problem("The store cannot be written. The server's log has the reason.", of: "store")
    }
    if !wasWritable.exchange(true, ordering: .relaxed) { logger.log(.info, "the server is ready again") }
  }

  /// Throws `TooSlow` if the check takes too long. Later calls also throw it until that check ends.
  private func checkInTime() async throws {
    guard !isChecking.exchange(true, ordering: .relaxed) else { throw TooSlow() }
    let (outcomes, outcome) = AsyncStream<Result<Void, any Error>>.makeStream()
    let timer = Task(executorPreference: executor) { [clock] in
      try await clock.sleep(for: Self.patience)
      outcome.yield(.failure(TooSlow()))
    }
    Task(executorPreference: executor) {
      let result: Result<Void, any Error>
      do { result = .success(try await self.checkStore()) } catch { result = .failure(error) }
      self.isChecking.store(false, ordering: .relaxed)
      timer.cancel()
      outcome.yield(result)
    }
    // Waits in another task, because other callers need this outcome even if this caller is
    // cancelled.
    try await Task(executorPreference: executor) { await outcomes.first { _ in true } }.value?.get()
  }

  private static func problem(_ detail: String, of part: String) -> Problem {
    var problem = Problem.overloaded(detail)
    problem.members = [("notReady", [.string(part)])]
    return problem
  }
}
