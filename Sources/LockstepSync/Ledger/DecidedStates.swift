import LockstepCollections
import LockstepThreading

/// The newest states of users with transactions that are queued or about to be queued.
///
/// The writer thread decides with these states. So it never reads a state from the store, which
/// would delay the writes of all other users. A state stays here from the reservation until the
/// transaction is published, so it cannot be evicted meanwhile.
final class DecidedStates: Sendable {
  private struct Entry: Sendable {
    /// The latest published state; nil until it is loaded.
    var committed: UserState?
    /// The state after the last decided transaction, until it is published.
    var decided: (state: UserState, ticket: UInt64)?
    var reservations = 0
  }

  private let entries = LockedState<[UserID: Entry]>([:])

  /// Begins a reservation. `cached` returns the latest published state if it is in memory. Returns
  /// whether the state must be loaded.
  func reserve(_ user: UserID, cached: () -> UserState?) -> Bool {
    entries.withLock { entries in
      // Without an entry, no transaction of the user is queued. So the cached state is the newest.
      var entry = entries[user] ?? Entry()
      if entry.committed == nil { entry.committed = cached() }
      entry.reservations += 1
      entries[user] = entry
      return entry.committed == nil
    }
  }

  /// Sets a state that was read after the reservation. If there is a state already, it is at least
  /// as new.
  func fill(_ user: UserID, _ state: UserState) {
    entries.withLock { if $0[user]?.committed == nil { $0[user]?.committed = state } }
  }

  func release(_ user: UserID) {
    entries.withLock { entries in
      guard let index = entries.index(forKey: user) else { return }
      entries.values[index].reservations -= 1
      if entries.values[index].reservations == 0 { entries.remove(at: index) }
    }
  }

  /// The state for the next transaction.
  func latest(_ user: UserID) -> UserState? {
    entries.withLock { entries in entries[user].flatMap { $0.decided?.state ?? $0.committed } }
  }

  /// Sets the state after a transaction that is decided and not published yet.
  func decide(_ user: UserID, _ state: UserState, ticket: UInt64) {
    entries.withLock { $0[user]?.decided = (state, ticket) }
  }

  /// Ends the time of a decided transaction: it was published, or its group has failed. The state
  /// of a later transaction stays, because its own handler is called later. After a failed group,
  /// no transaction is decided before the handlers of the group were called.
  func finish(_ user: UserID, ticket: UInt64, committed: UserState?) {
    entries.withLock { entries in
      guard let index = entries.index(forKey: user) else { return }
      if let committed { entries.values[index].committed = committed }
      if entries.values[index].decided?.ticket == ticket { entries.values[index].decided = nil }
    }
  }
}

/// The right to queue a transaction of a user. Keeps the user's state in memory until the object is
/// released.
package final class WriteReservation: Sendable {
  let user: UserID
  /// Whether the state must be loaded before a transaction can be queued.
  package let needsLoading: Bool
  private let states: DecidedStates

  init(of user: UserID, in states: DecidedStates, cache: StateCache) {
    self.user = user
    self.states = states
    needsLoading = states.reserve(user) { cache.state(of: user)?.state }
  }

  deinit { states.release(user) }
}
