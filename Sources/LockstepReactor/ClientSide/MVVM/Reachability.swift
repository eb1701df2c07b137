/// Whether a server can be reached. Code that watches the network, or a test, updates it.
public final class Reachability: Sendable {
  /// Whether a server can be reached.
  public enum Status: Sendable, Hashable {
    /// Requests may succeed.
    case reachable
    /// Requests would fail.
    case unreachable
  }

  private let status: Latest<Status>

  /// Starts with a status.
  public init(_ status: Status = .reachable) {
    self.status = Latest(status)
  }

  /// The current status.
  public var current: Status { status.value }

  /// The current status at once, then every change.
  public var values: LatestValues<Status> { status.values }

  /// Sets the status. Call it from the code that watches the network, or from a test.
  public func update(_ status: Status) {
    self.status.publish(status)
  }

  /// Waits until the server can be reached. Throws `CancellationError` if the task is cancelled
  /// before that.
  public func waitUntilReachable() async throws(CancellationError) {
    for await status in values where status == .reachable { return }
    throw CancellationError()
  }
}
