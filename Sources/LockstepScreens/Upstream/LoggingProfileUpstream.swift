import LockstepLogging
import Synchronization

/// An upstream whose failures an operator is told of: users are told only that it went wrong.
package final class LoggingProfileUpstream: ProfileUpstream {
  /// How often one is told of, at most, in nanoseconds: an upstream that is down fails for everybody who saves.
  private static let interval: Int64 = 60 * 1_000_000_000

  private let base: any ProfileUpstream
  private let logger: Logger
  private let monotonic: @Sendable () -> Int64
  private let untold = Atomic(0)
  private let nextTelling = Atomic<Int64>(.min)

  /// - Parameters:
  ///   - base: Who takes profiles.
  ///   - logger: Where failures are told.
  ///   - monotonic: The server's clock, in nanoseconds.
  package init(_ base: any ProfileUpstream, logger: Logger, monotonic: @escaping @Sendable () -> Int64) {
    self.base = base
    self.logger = logger
    self.monotonic = monotonic
  }

  package nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError) {
    do {
      try await base.send(profile)
    } catch {
      // Nothing has failed where nobody waits any more.
      if error.kind != .cancelled { tell(error) }
      throw error
    }
  }

  private func tell(_ failure: UpstreamError) {
    let (now, next) = (monotonic(), nextTelling.load(ordering: .relaxed))
    guard now >= next,
      nextTelling.compareExchange(expected: next, desired: now + Self.interval, ordering: .relaxed).exchanged
    else {
      untold.add(1, ordering: .relaxed)
      return
    }
    logger.log(
      .warning,
      "the profile upstream failed",
      ["reason": .string(failure.detail), "failuresNotTold": .integer(Int64(untold.exchange(0, ordering: .relaxed)))]
    )
  }
}
