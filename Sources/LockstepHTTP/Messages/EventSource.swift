/// A body that comes piece by piece, such as server-sent events, over a connection that is parked in between.
///
/// The engine asks for the next piece on the connection's event loop, when it's woken or when its deadline is over, again
/// and again until there is nothing to send, and never while the client hasn't taken what came before: who can't keep up
/// misses wakings, not pieces.
public protocol EventSource: AnyObject, Sendable {
  /// When to be asked at the latest: a moment of the server's monotonic clock, in nanoseconds. Asked for before each wait.
  var deadline: Int64 { get }

  /// The connection is parked: `waker` brings it back. Called on the loop, once, before anything else; whatever was missed
  /// until then must be woken for now.
  func hold(_ waker: any Waker)

  /// Nobody listens any more. Called on the loop, once.
  func release()

  /// What to send now.
  func next(_ cause: WakeReason) -> EventPiece
}

/// What an `EventSource` has to send.
public enum EventPiece: Sendable {
  /// These bytes.
  case bytes([UInt8])
  /// Nothing now.
  case nothing
  /// That was all: the body ends.
  case end
}
