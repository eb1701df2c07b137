import LockstepHTTP
import LockstepTime

/// The limits of a connection in the units of the state machine. Times are nanoseconds, because
/// arithmetic on `Duration` is slow.
final class ConnectionBounds: Sendable {
  let head: Int64
  let idle: Int64
  let bodyGrace: Int64
  /// How many bytes of a body must arrive within `bodyGrace`.
  let leastBody: Int
  let outputStall: Int64
  /// How many bytes a client must take within `outputStall`; at least 1.
  let leastOutput: Int
  let linger: Int64
  let drain: Int64
  let drainSilence: Int64
  let discardedBody: Int
  /// How many bytes a client may still send while its connection closes.
  let body: Int

  init(_ limits: Limits) {
    head = limits.headTime.wholeNanoseconds
    idle = limits.idleTime.wholeNanoseconds
    bodyGrace = limits.bodyGrace.wholeNanoseconds
    leastBody = Self.least(limits.bodyRate, over: bodyGrace)
    outputStall = limits.outputStall.wholeNanoseconds
    leastOutput = max(1, Self.least(limits.responseRate, over: outputStall))
    linger = limits.lingerTime.wholeNanoseconds
    drain = limits.drainTime.wholeNanoseconds
    drainSilence = limits.drainSilence.wholeNanoseconds
    discardedBody = limits.discardedBody
    body = limits.body
  }

  private static func least(_ rate: Int, over nanoseconds: Int64) -> Int {
    // In milliseconds, the unit of the options, because nanoseconds times a rate can overflow.
    let (least, overflows) = Int(nanoseconds / 1_000_000).multipliedReportingOverflow(by: rate)
    return overflows ? .max : least / 1000
  }
}
