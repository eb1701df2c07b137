import LockstepCollections

/// The maker of a change that the app shows.
public enum ChangeOrigin: Sendable, Equatable {
  /// The app, on this device.
  case local
  /// The server.
  case server
}

/// The state that a client shows at one moment.
struct Shown: Sendable {
  /// Counts what the client has shown.
  let sequence: Int
  let state: UserState
  /// Whether the copy has come from the server, now or in an earlier run.
  let isReady: Bool
  let origin: ChangeOrigin
  let connection: ConnectionState
  let pending: Int
  let refused: [OutboxEntry]
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
    refused = outbox.refused
  }
}
