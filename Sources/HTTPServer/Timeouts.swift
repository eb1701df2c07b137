import HTTP

/// The times of the limits in nanoseconds, worked out once: arithmetic on `Duration` is slow for what happens a
/// hundred thousand times a second.
struct Timeouts {
  let head: Int64
  let idle: Int64
  let bodyGrace: Int64
  let outputStall: Int64
  let linger: Int64
  let drain: Int64

  init(_ limits: Limits) {
    head = limits.headTime.nanoseconds
    idle = limits.idleTime.nanoseconds
    bodyGrace = limits.bodyGrace.nanoseconds
    outputStall = limits.outputStall.nanoseconds
    linger = limits.lingerTime.nanoseconds
    drain = limits.drainTime.nanoseconds
  }
}
