/// What a response rests on. A client that polls over a connection that is kept says the same again and again, byte for byte:
/// as long as the premise holds, it gets the same response again, and nothing of its request is looked at anew.
public protocol ResponseValidity: AnyObject, Sendable {
  /// Whether the response is still the one that the request would get. Who counts what is answered counts it here, since
  /// nobody else is asked.
  ///
  /// Called on the connection's event loop, so it must not block.
  ///
  /// - Parameter arrival: When the request came again: a moment of the server's monotonic clock, in nanoseconds.
  /// - Returns: Whether it holds.
  func holds(at arrival: Int64) -> Bool

  /// What the response says besides, other each time it's given, such as how much of a limit is left. Asked for each time, the
  /// first included; on the loop, after `holds(at:)` where that is asked. Default: nothing.
  var fields: HeaderFields { get }
}

extension ResponseValidity {
  /// Nothing.
  public var fields: HeaderFields { HeaderFields() }
}
