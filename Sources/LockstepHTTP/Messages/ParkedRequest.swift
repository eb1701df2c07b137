/// A parked request or an event source. While it waits, its connection has no task and no thread.
public protocol Waiter: AnyObject, Sendable {
  /// The end of the wait, in nanoseconds of the server's monotonic clock. The event loop reads it
  /// before each wait.
  var deadline: Int64 { get }

  /// Starts the wait: call `waker` when there is something to send, or at once if there is already.
  /// The event loop of the connection calls this method before any other.
  func park(_ waker: any Waker)

  /// Ends the wait. The event loop calls this once for each `park(_:)`.
  func unpark()
}

/// A request that waits until its resource changes.
public protocol ParkedRequest: Waiter {
  /// Returns the response, or `parked` to continue to wait. The event loop of the connection calls
  /// this for each `WakeReason`.
  func resume(_ cause: WakeReason) -> HandlerResult
}

/// A response body that arrives in pieces, such as server-sent events.
///
/// For each `WakeReason`, the event loop of the connection asks for pieces until there are no more.
/// It asks only when all earlier output is sent: for a slow client, several wake-ups may become
/// one, but no piece is lost.
public protocol EventSource: Waiter {
  /// The next piece.
  func next(_ cause: WakeReason) -> EventPiece
}

/// The next piece of an `EventSource`.
public enum EventPiece: Sendable {
  case bytes([UInt8])
  /// Nothing at the moment.
  case nothing
  /// The end of the body.
  case end
}

/// Why the event loop asks a waiter for its response or its next piece.
public enum WakeReason: Sendable {
  case woken
  /// The waiter's deadline has passed.
  case timeOver
  /// The server drains, or the client has closed its side of the connection.
  case leaving
}

/// Wakes a parked connection.
public protocol Waker: AnyObject, Sendable {
  /// Wakes the connection. May be called from any thread, any number of times.
  func wake()

  /// Adds the connection to a batch, which wakes it later.
  func join(_ batch: inout WakeBatch)
}

/// A batch of connections to wake. It wakes each of their event loops only once.
public struct WakeBatch {
  private var targets: [(loop: any WakeTarget, tokens: [UInt64])] = []

  /// An empty batch.
  public init() {}

  /// Adds a connection by its token.
  public mutating func add(_ token: UInt64, of loop: any WakeTarget) {
    if let index = targets.firstIndex(where: { $0.loop === loop }) {
      targets[index].tokens.append(token)
    } else {
      targets.append((loop, [token]))
    }
  }

  /// Wakes all connections of the batch.
  public func begin() {
    for (loop, tokens) in targets { loop.wake(tokens) }
  }
}

/// An event loop, seen from the code that wakes its connections.
public protocol WakeTarget: AnyObject, Sendable {
  /// Wakes connections. May be called from any thread; tokens of closed connections are ignored.
  func wake(_ tokens: [UInt64])
}

/// Decides whether a response may be sent again when a client repeats its request. If so, no
/// handler runs.
public protocol ResponseValidity: AnyObject, Sendable {
  /// Whether the response is valid for the repeated request, which arrived at `arrival`, in
  /// nanoseconds of the server's monotonic clock. If it is, count and log the request here, because
  /// no handler does. Called on the connection's event loop, so it must not block.
  func holds(at arrival: Int64) -> Bool

  /// Header fields that differ for each response, such as the rest of a rate limit. The server
  /// reads them once for each response. Default: none.
  var fields: HeaderFields { get }
}

extension ResponseValidity {
  /// No fields.
  public var fields: HeaderFields { HeaderFields() }
}

/// The validity of a response that never changes.
package final class PermanentValidity: ResponseValidity {
  package init() {}

  package func holds(at arrival: Int64) -> Bool { true }
}
