import LockstepHTTP

/// What brings a parked connection back to its loop, from wherever somebody has something to tell it.
///
/// It names the connection and doesn't hold it: one that has gone meanwhile is passed over.
final class ConnectionWaker: Waker {
  private let owner: EventLoop
  private let token: UInt64

  init(of connection: Connection) {
    owner = connection.loop
    token = connection.token
  }

  func wake() { owner.wake([token]) }
  func join(_ wakings: inout WakeBatch) { wakings.add(token, of: owner) }
}
