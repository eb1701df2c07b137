import LockstepHTTP

/// The limits of one connection as the state machine needs them, worked out once: times in
/// nanoseconds, since arithmetic on `Duration` is slow for what happens a hundred thousand times a
/// second.
final class ConnectionBounds: Sendable {
  let head: Int64
  let idle: Int64
  let bodyGrace: Int64
  /// How many bytes a body must bring in that time.
  let leastBody: Int
  let outputStall: Int64
  let linger: Int64
  let drain: Int64
  let drainSilence: Int64
  /// How much of a body that no handler read is thrown away.
  let discardedBody: Int
  /// How much a closing client may still send.
  let body: Int

  init(_ limits: Limits) {
    head = limits.headTime.nanoseconds
    idle = limits.idleTime.nanoseconds
    bodyGrace = limits.bodyGrace.nanoseconds
    // In milliseconds, which options are given in: nanoseconds times a rate are more than 63 bits
    // hold.
    let (least, overflows) = Int(bodyGrace / 1_000_000).multipliedReportingOverflow(by: limits.bodyRate)
    leastBody = overflows ? .max : least / 1000
    outputStall = limits.outputStall.nanoseconds
    linger = limits.lingerTime.nanoseconds
    drain = limits.drainTime.nanoseconds
    drainSilence = limits.drainSilence.nanoseconds
    discardedBody = limits.discardedBody
    body = limits.body
  }
}
