import LockstepClient
import Observation

/// The writes that the server has refused, for a view that shows them to the user.
///
///     ForEach(refused.writes) { write in
///       Text(write.failure.title)
///       Button("Try again") { refused.retry(write) }
///       Button("Dismiss") { refused.dismiss(write) }
///     }
@MainActor
@Observable
public final class RefusedWritesModel {
  /// The refused writes, in order.
  public private(set) var writes: [RefusedWrite]
  /// Why the last call of `retry` or `dismiss` could not be stored on this device.
  public internal(set) var failure: (any Error)?
  @ObservationIgnored private let client: LockstepClient
  @ObservationIgnored private var following: FollowingTask?

  /// A model of a client's refused writes.
  public init(_ client: LockstepClient) {
    (self.client, writes) = (client, client.refusedWrites)
    following = FollowingTask { [weak self] in
      for await writes in client.refusals { self?.writes = writes }
    }
  }

  /// Sends a refused write again, as a new write without a condition.
  public func retry(_ write: RefusedWrite) {
    perform { [client] in _ = try await client.retry(write) }
  }

  /// Removes a refused write.
  public func dismiss(_ write: RefusedWrite) {
    perform { [client] in try await client.dismiss(write) }
  }

  private func perform(_ body: @escaping @MainActor () async throws -> Void) {
    Task {
      do {
        try await body()
        failure = nil
      } catch { failure = error }
    }
  }
}
