import HTTP
import Synchronization

/// Whether requests should be sent here.
final class Readiness: Sendable {
  private let isDraining = Atomic(false)
  private let wasWritable = Atomic(true)
  private let checkStore: @Sendable () async throws -> Void
  private let logger: Logger

  /// Ready when `checkStore` succeeds, which writes to the store.
  init(logger: Logger, checkStore: @escaping @Sendable () async throws -> Void) {
    self.logger = logger
    self.checkStore = checkStore
  }

  /// From now on the server isn't ready: it stops.
  func beginDraining() {
    isDraining.store(true, ordering: .relaxed)
  }

  /// Throws a problem that says what is not ready.
  func check() async throws {
    guard !isDraining.load(ordering: .relaxed) else { throw Self.problem("The server is about to stop.", of: "server") }
    do {
      try await checkStore()
    } catch {
      // Once for each time it stops working: those who ask are many, and some ask every second.
      if wasWritable.exchange(false, ordering: .relaxed) {
        logger.log(.error, "the store can't be written", ["error": .string("\(error)")])
      }
      throw Self.problem("The store can't be written. The server's log has the reason.", of: "store")
    }
    if !wasWritable.exchange(true, ordering: .relaxed) { logger.log(.info, "the store can be written again") }
  }

  /// `part` is what isn't ready, for machines.
  private static func problem(_ detail: String, of part: String) -> Problem {
    var problem = Problem(.overloaded, detail: detail, members: [("notReady", [.string(part)])])
    problem.fields.append(.retryAfter, "1")
    return problem
  }
}
