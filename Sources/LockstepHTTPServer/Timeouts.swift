import LockstepHTTP

/// The times of the limits in nanoseconds, worked out once: arithmetic on `Duration` is slow for what happens a
/// hundred thousand times a second.
struct Timeouts {
  let head: Int64
  let idle: Int64
  let bodyGrace: Int64
  /// How many bytes a body must bring in that time.
  let leastBody: Int
  let outputStall: Int64
  let linger: Int64
  let drain: Int64
  let drainSilence: Int64

  init(_ limits: Limits) {
    head = limits.headTime.nanoseconds
    idle = limits.idleTime.nanoseconds
    bodyGrace = limits.bodyGrace.nanoseconds
    // In milliseconds, which options are given in: nanoseconds times a rate are more than 63 bits hold.
    let (least, overflows) = Int(bodyGrace / 1_000_000).multipliedReportingOverflow(by: limits.bodyRate)
    leastBody = overflows ? .max : least / 1000
    outputStall = limits.outputStall.nanoseconds
    linger = limits.lingerTime.nanoseconds
    drain = limits.drainTime.nanoseconds
    drainSilence = limits.drainSilence.nanoseconds
  }
}
