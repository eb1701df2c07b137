import LockstepTestSupport
import LockstepThreading
import Testing

@testable import LockstepServerTestSupport

extension ServerFixture {
  /// Runs an operator's command while the server polls for commands, as it does once a second by itself.
  func run<Value: Sendable>(
    _ command: @escaping @Sendable () throws -> Value,
    polling poll: () async throws -> Void
  ) async throws -> Value {
    let outcome = LockedState<Result<Value, any Error>?>(nil)
    async let end: Void = aside {
      let result = Result { try command() }
      outcome.withLock { $0 = result }
    }
    do {
      try await eventually {
        try await poll()
        return outcome.withLock { $0 != nil }
      }
    } catch {
      Issue.record(error)
    }
    // A command that the server has not run times out now.
    if outcome.withLock({ $0 == nil }) { time.advance(by: 3600) }
    await end
    return try #require(outcome.withLock { $0 }).get()
  }
}
