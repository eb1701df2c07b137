/// Whether the other side can be reached: injected, so that a test or a platform says so.
public final class Reachability: Sendable {
  /// What is known of the way to the other side.
  public enum Status: Sendable, Hashable {
    /// Requests have a chance.
    case reachable
    /// Requests are pointless now.
    case unreachable
  }

  private let status: Latest<Status>

  /// Starts with what is known.
  public init(_ status: Status = .reachable) {
    self.status = Latest(status)
  }

  /// What is known now.
  public var current: Status { status.value }

  /// What is known at once, then every change.
  public var values: LatestValues<Status> { status.values }

  /// Says what is known now; called by whoever watches the network, or by a test.
  public func update(_ status: Status) {
    self.status.publish(status)
  }

  /// Waits until the other side can be reached; throws `CancellationError` when cancelled before.
  public func waitUntilReachable() async throws(CancellationError) {
    for await status in values where status == .reachable { return }
    throw CancellationError()
  }
}
