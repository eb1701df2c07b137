import LockstepCollections

/// Where a change that the app shows comes from.
public enum ChangeOrigin: Sendable, Equatable {
  /// This app, on this device.
  case local
  /// Anything else: another device, another process, a refusal, or a new copy.
  case server
}

/// The state that a client shows at one moment.
struct Shown: Sendable {
  /// Counts the states that the client has shown.
  let sequence: Int
  let state: UserState
  /// Whether the client has a copy, from this run or an earlier one.
  let isReady: Bool
  let origin: ChangeOrigin
  let connection: ConnectionState
  let pending: Int
  let refused: [OutboxEntry]
  /// Changes whenever `refused` changes.
  let refusals: Int
  let storeFailure: ClientFailure?

  init(
    sequence: Int,
    _ view: OptimisticView,
    _ copy: ClientCopy,
    _ outbox: Outbox,
    _ connection: ConnectionState,
    origin: ChangeOrigin,
    storeFailure: ClientFailure?
  ) {
    (self.sequence, self.connection, self.origin, self.storeFailure) = (sequence, connection, origin, storeFailure)
    state = view.state
    isReady = copy.position != nil
    pending = outbox.waiting
    (refused, refusals) = (outbox.refused, outbox.refusals)
  }
}
