/// A request that waits until there is something to tell: the connection is parked meanwhile, and costs no task.
///
/// The engine asks `answer(_:)` on the connection's event loop, when it's woken or when there is no more time, and parks the
/// connection again where that says so.
public protocol ParkedRequest: AnyObject, Sendable {
  /// How long it may wait: a moment of the server's monotonic clock, in nanoseconds.
  var deadline: Int64 { get }

  /// The connection is parked: `waker` is what brings it back. Called on the loop, before anything else; whatever was missed
  /// between the answer that led here and this call must be woken for now.
  func hold(_ waker: any Waker)

  /// Nobody waits any more. Called on the loop once for each `hold`, before the answer is sent, or where there is nobody to
  /// send one to.
  func release()

  /// What to tell now, and why now.
  func answer(_ cause: WakeReason) -> HandlerResult
}

/// Why a request that waits is asked for its answer.
public enum WakeReason: Sendable {
  /// Somebody called the waker.
  case woken
  /// Its deadline is over.
  case timeOver
  /// The server stops, or the client sends no more and may be gone.
  case leaving
}

/// Brings a parked connection back to its event loop.
public protocol Waker: AnyObject, Sendable {
  /// Has the request asked for its answer. May be called from any thread, any number of times.
  func wake()

  /// The same, together with others, when `wakings` begin.
  func join(_ wakings: inout WakeBatch)
}

/// Connections that are brought back at the same time. Each loop is told once of all of its own, and so wakes up once, however many
/// they are.
public struct WakeBatch {
  private var loops: [(loop: any WakeableLoop, tokens: [UInt64])] = []

  /// None yet.
  public init() {}

  /// Adds a connection of a loop, by the loop's own name for it.
  public mutating func add(_ token: UInt64, of loop: any WakeableLoop) {
    if let index = loops.firstIndex(where: { $0.loop === loop }) {
      loops[index].tokens.append(token)
    } else {
      loops.append((loop, [token]))
    }
  }

  /// Brings them back.
  public func begin() {
    for (loop, tokens) in loops { loop.wake(tokens) }
  }
}

/// An event loop, as those see it who bring its connections back.
public protocol WakeableLoop: AnyObject, Sendable {
  /// Brings connections back. May be called from any thread; those that have gone are passed over.
  func wake(_ tokens: [UInt64])
}
