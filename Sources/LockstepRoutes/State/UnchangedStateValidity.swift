import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepSync

/// What a user's present state rests on for somebody who asks again: it's the same as long as neither the user nor the
/// administrator has changed anything, and it's theirs to see as long as their session goes on.
final class UnchangedStateValidity: ResponseValidity {
  private let session: LiveSession
  private let revision: Revision
  private let registered: Revision
  private let cache: StateCache
  private let registry: RegisteredLedger
  private let millisecondsSince1970: @Sendable () -> Int64

  /// - Parameters:
  ///   - session: Who asks.
  ///   - revision: The user's, that was answered from.
  ///   - registered: That of what is registered, that was answered from.
  ///   - cache: Where the user's latest state is.
  ///   - registry: Where what is registered is.
  ///   - millisecondsSince1970: The time.
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

  /// Once a minute it's looked at anew, so that the session's use is noted: see `LiveSession.isFresh`.
  func holds(at arrival: Int64) -> Bool {
    session.isFresh(at: millisecondsSince1970()) && cache.revision(of: session.user) == revision
      && registry.revision == registered
  }
}
