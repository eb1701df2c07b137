import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepThreading

/// A request whose session is not in memory. Its connection waits without a task until the session and the
/// user's state are loaded.
///
/// The load only fills the caches. If it fails, `respond` gets no session and must load it itself,
/// and so it reports the error.
package final class UserLoad: ParkedRequest {
  package typealias Respond = @Sendable (LiveSession?) -> HandlerResult

  private enum State {
    case loading((any Waker)?)
    case done(LiveSession?)
  }

  package let deadline = Int64.max
  private let state = LockedState(State.loading(nil))
  private let respond: Respond

  package init(respond: @escaping Respond) {
    self.respond = respond
  }

  /// Begins the load. Call it once. `arrival` is when the request arrived, in milliseconds since 1970.
  package func begin(
    _ token: SessionDirectory.UnknownToken,
    from network: ClientNetwork,
    at arrival: Int64,
    _ directory: SessionDirectory,
    _ cache: StateCache
  ) {
    directory.load(token, from: network, at: arrival) { result in
      let session = (try? result.get()) ?? nil
      guard let session, cache.state(of: session.user) == nil else { return self.finish(session) }
      cache.load(session.user, from: session.networkShare(network)) { _ in self.finish(session) }
    }
  }

  private func finish(_ session: LiveSession?) {
    let waker = state.withLock { state -> (any Waker)? in
      guard case .loading(let waker) = state else { return nil }
      state = .done(session)
      return waker
    }
    waker?.wake()
  }

  package func park(_ waker: any Waker) {
    let isDone = state.withLock { state in
      if case .done = state { return true }
      state = .loading(waker)
      return false
    }
    if isDone { waker.wake() }
  }

  package func unpark() {
    state.withLock { state in
      if case .loading = state { state = .loading(nil) }
    }
  }

  /// If the server drains or the client leaves before the load has ended, `respond` loads the
  /// session itself.
  package func resume(_ cause: WakeReason) -> HandlerResult {
    let session = state.withLock { state -> LiveSession? in
      if case .done(let session) = state { session } else { nil }
    }
    // The session may have ended since it was loaded.
    return respond(session.flatMap { $0.isEnded ? nil : $0 })
  }
}
