import LockstepLogging
import Synchronization

/// Logs the failures of an upstream for the operator. Users see a general message only.
package final class LoggingProfileUpstream: ProfileUpstream {
  /// The shortest time between two log lines, in nanoseconds, because many saves may fail in a row.
  private static let interval: Int64 = 60 * 1_000_000_000

  private let base: any ProfileUpstream
  private let logger: Logger
  private let monotonic: @Sendable () -> Int64
  private let suppressed = Atomic(0)
  private let nextLine = Atomic<Int64>(.min)

  package init(_ base: any ProfileUpstream, logger: Logger, monotonic: @escaping @Sendable () -> Int64) {
    self.base = base
    self.logger = logger
    self.monotonic = monotonic
  }

  package nonisolated(nonsending) func send(_ profile: OutgoingProfile) async throws(UpstreamError) {
    do {
      try await base.send(profile)
    } catch {
      if error.kind != .cancelled { log(error) }
      throw error
    }
  }

  private func log(_ failure: UpstreamError) {
    let (now, next) = (monotonic(), nextLine.load(ordering: .relaxed))
    guard now >= next,
      nextLine.compareExchange(expected: next, desired: now + Self.interval, ordering: .relaxed).exchanged
    else {
      suppressed.add(1, ordering: .relaxed)
      return
    }
    logger.log(
      .warning,
      "the profile upstream failed",
      [
        "reason": .string(failure.detail),
        "failuresNotLogged": .integer(Int64(suppressed.exchange(0, ordering: .relaxed))),
      ]
    )
  }
}
