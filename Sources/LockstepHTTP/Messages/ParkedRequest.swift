/// A parked request or an event source. Its connection has no task and no thread while it waits.
public protocol Waiter: AnyObject, Sendable {
  /// The end of the wait, in nanoseconds of the server's monotonic clock. Read before each wait.
  var deadline: Int64 { get }

  /// Parks the connection. The source of the change wakes it with `waker`. The event loop of the
  /// connection calls this before anything else. If there is something to send already, call the
  /// waker at once.
  func park(_ waker: any Waker)

  /// Ends the wait. The loop calls this once for each `park(_:)`.
  func unpark()
}

/// A request that waits until its resource changes.
public protocol ParkedRequest: Waiter {
  /// Makes the response, or continues to wait by returning `parked` again. The event loop of the
  /// connection calls this after each wake-up and at the deadline.
  func resume(_ cause: WakeReason) -> HandlerResult
}

/// A response body that arrives in pieces, such as server-sent events.
///
/// After each wake-up and at the deadline, the event loop of the connection asks for pieces until
/// there are no more. It never asks before the client has read the previous piece, so a slow client
/// misses wake-ups, but no pieces.
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

/// Why a parked request is asked for its response.
public enum WakeReason: Sendable {
  case woken
  /// Its deadline has passed.
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

/// Connections that are woken together: each of their loops is woken once.
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

/// Decides how long a response may be sent again, if a client sends the same bytes again on one
/// connection. As long as the response is valid, the server does not parse the repeated request.
public protocol ResponseValidity: AnyObject, Sendable {
  /// Whether the response is still valid for the same request, which has arrived again at
  /// `arrival`, in nanoseconds of the server's monotonic clock. Count and log the request here,
  /// because no handler runs. Called on the connection's event loop, so it must not block.
  func holds(at arrival: Int64) -> Bool

  /// Fields that differ each time, such as what is left of a rate limit. Read once for each
  /// response, after `holds(at:)`. Default: none.
  var fields: HeaderFields { get }
}

extension ResponseValidity {
  /// No fields.
  public var fields: HeaderFields { HeaderFields() }
}
