/// A request that waits until there is something to tell: the connection is parked meanwhile, and costs no task.
///
/// The engine asks `answer(_:)` on the connection's event loop, when it's woken or when there is no more time, and parks the
/// connection again where that says so.
public protocol HeldRequest: AnyObject, Sendable {
  /// How long it may wait: a moment of the server's monotonic clock, in nanoseconds.
  var deadline: Int64 { get }

  /// The connection is parked: `waker` is what brings it back. Called on the loop, before anything else; whatever was missed
  /// between the answer that led here and this call must be woken for now.
  func hold(_ waker: any Waker)

  /// Nobody waits any more. Called on the loop once for each `hold`, before the answer is sent, or where there is nobody to
  /// send one to.
  func release()

  /// What to tell now, and why now.
  func answer(_ cause: WakeCause) -> Answer
}

/// Why a request that waits is asked for its answer.
public enum WakeCause: Sendable {
  /// Somebody called the waker.
  case woken
  /// Its deadline is over.
  case timeOver
  /// The server stops, or the client sends no more and may be gone.
  case leaving
}

/// Brings a parked connection back to its event loop.
public protocol Waker: AnyObject, Sendable {
  /// The loop that the connection is on: wakers of one loop are best called in a row.
  var loop: Int { get }

  /// Has the request asked for its answer. May be called from any thread, any number of times.
  func wake()
}
