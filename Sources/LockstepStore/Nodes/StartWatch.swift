import LockstepThreading

/// Notices that the start of a node waits for a synchronous standby of the database, and ends the start if that takes
/// too long.
///
/// A start that has nothing to write does not wait for the standby. A start that must write, for example because the
/// schema is new, waits in its COMMIT, or for the locks of an earlier start whose COMMIT still waits.
final class StartWatch: Sendable {
  /// A start that takes less time does not wait for a standby.
  private static let firstCheck = Duration.seconds(2)
  private static let interval = Duration.milliseconds(500)

  private struct State: Sendable {
    var isEnded = false
    /// Whether the start was ended, because the standby did not confirm its commits.
    var hasGivenUp = false
  }

  private let state = LockedState(State())
  private let thread: LockedState<NamedThread?>

  /// Uses the open connection of the feed until `end()`. `onWait` gets the reason once, when the start waits. About
  /// `patience` later, all waits of the start are cancelled.
  init(
    _ connector: PostgreSQLConnector,
    patience: Duration,
    onWait: @escaping @Sendable (any Error) -> Void
  ) throws(NamedThread.NotStarted) {
    let state = state
    thread = LockedState(
      try NamedThread(name: "start-watch") { Self.watch(connector, state, patience: patience, onWait) }
    )
  }

  deinit {
    state.withLock { $0.isEnded = true }
    state.wakeAll()
    thread.withLock { $0.take() }?.detach()
  }

  /// Ends the watch, and gives the connection back.
  func end() {
    state.withLock { $0.isEnded = true }
    state.wakeAll()
    thread.withLock { $0.take() }?.join()
  }

  /// The reason for an error of the start.
  func reason(of error: any Error) -> any Error {
    state.withLock { $0.hasGivenUp } ? StoreError.standbySilent : error
  }

  private static func watch(
    _ connector: PostgreSQLConnector,
    _ state: LockedState<State>,
    patience: Duration,
    _ onWait: (any Error) -> Void
  ) {
    // If the connection is lost, the watch ends, and the feed makes a new connection. The start itself notices a
    // database that has failed.
    connector.withOpened(.feed) { session in
      var pause = firstCheck
      var giveUpAt: ContinuousClock.Instant?
      while state.wait(atMost: pause.wholeNanoseconds, for: { $0.isEnded ? () : nil }) == nil {
        pause = interval
        guard try StandbyWaits.areLong(in: session) else { continue }
        if giveUpAt == nil { onWait(StoreError.standbySilent) }
        let end = giveUpAt ?? .now + patience
        giveUpAt = end
        guard ContinuousClock.now >= end else { continue }
        state.withLock { $0.hasGivenUp = true }
        return connector.cancelWaits()
      }
    }
  }
}
