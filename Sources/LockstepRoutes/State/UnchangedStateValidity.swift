import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync

/// The validity of a response with a user's current state. The response is valid until the user's
/// state or the registered defaults change, or until the session ends.
final class UnchangedStateValidity: ResponseValidity {
  private let session: LiveSession
  private let revision: Revision
  private let registered: Revision
  private let cache: StateCache
  private let registry: RegisteredLedger
  private let millisecondsSince1970: @Sendable () -> Int64

  /// - Parameters:
  ///   - session: The session of the client.
  ///   - revision: The user's revision that the response shows.
  ///   - registered: The revision of the registered defaults that the response shows.
  ///   - cache: Has the user's latest state.
  ///   - registry: Has the registered defaults.
  ///   - millisecondsSince1970: Returns the current time.
  init(
    _ session: LiveSession,
    at revision: Revision,
    _ registered: Revision,
    cache: StateCache,
    registry: RegisteredLedger,
    millisecondsSince1970: @escaping @Sendable () -> Int64
  ) {
    self.session = session
    self.revision = revision
    self.registered = registered
    self.cache = cache
    self.registry = registry
    self.millisecondsSince1970 = millisecondsSince1970
  }

  /// Fails once a minute, so that the session's use is recorded: see `LiveSession.isFresh`.
  func holds(at arrival: Int64) -> Bool {
    session.isFresh(at: millisecondsSince1970()) && cache.revision(of: session.user) == revision
      && registry.revision == registered
  }
}
