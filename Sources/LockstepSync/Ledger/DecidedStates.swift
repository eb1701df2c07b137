import LockstepCollections
import LockstepThreading

/// The newest states of users with transactions that are queued or about to be queued.
///
/// The writer thread decides with these states. So it never reads a state from the store, which
/// would delay the writes of all other users. A state stays here from the reservation until the
/// transaction is published, so it cannot be evicted meanwhile.
final class DecidedStates: Sendable {
  /// The states of one user. All reservations of the user share them.
  final class Entry: Sendable {
    private struct Contents: Sendable {
      /// The latest published state; nil until it is loaded.
      var committed: UserState?
      /// The state after the last decided transaction, until it is published.
      var decided: (state: UserState, ticket: UInt64)?
      /// Raised when a state is lost that `latest` may have returned.
      var generation = 0
    }

    private let contents: LockedState<Contents>

    fileprivate init(_ committed: UserState?) {
      contents = LockedState(Contents(committed: committed))
    }

    var needsLoading: Bool { contents.withLock { $0.committed == nil } }

    /// Sets a state that was read after the reservation. If there is a state already, it is at
    /// least as new.
    func fill(_ state: UserState) { contents.withLock { if $0.committed == nil { $0.committed = state } } }

    /// The state for the next transaction. If the group of a decided transaction fails, another state
    /// gets the same revision. So a revision identifies a state only within a generation.
    var latest: (state: UserState, generation: Int)? {
      contents.withLock { contents in
        guard let state = contents.decided?.state ?? contents.committed else { return nil }
        return (state, contents.generation)
      }
    }

    /// Sets the state after a transaction that is decided and not published yet.
    func decide(_ state: UserState, ticket: UInt64) { contents.withLock { $0.decided = (state, ticket) } }

    /// Drops the states, which are not in the user's history. Transactions that wait fail.
    func forget() { contents.withLock { $0 = Contents(generation: $0.generation + 1) } }

    /// Ends the time of a decided transaction: it was published, or its group has failed. The state
    /// of a later transaction stays, because its own handler is called later. After a failed group,
    /// no transaction is decided before the handlers of the group were called.
    func finish(ticket: UInt64, committed: UserState?) {
      contents.withLock { contents in
        if let committed { contents.committed = committed }
        guard contents.decided?.ticket == ticket else { return }
        contents.decided = nil
        if committed == nil { contents.generation += 1 }
      }
    }
  }

  private let entries = LockedState<[UserID: (entry: Entry, reservations: Int)]>([:])

  /// Begins a reservation. `cached` returns the latest published state if it is in memory. The
  /// result has this state if there was no reservation of the user. It also has the objects that
  /// `cached` wants to be released after the lock, which every write takes.
  func reserve<Dropped>(
    _ user: UserID,
    cached: () -> (state: UserState?, dropped: Dropped)
  ) -> (entry: Entry, published: UserState?, dropped: Dropped?) {
    entries.withLock { entries in
      if let index = entries.index(forKey: user) {
        entries.values[index].reservations += 1
        return (entries.values[index].entry, nil, nil)
      }
      // Without an entry, no transaction of the user is queued. So the cached state is the newest.
      let (published, dropped) = cached()
      let entry = Entry(published)
      entries[user] = (entry, 1)
      return (entry, published, dropped)
    }
  }

  fileprivate func release(_ user: UserID) {
    let released = entries.withLock { entries -> Entry? in
      guard let index = entries.index(forKey: user) else { return nil }
      entries.values[index].reservations -= 1
      return entries.values[index].reservations == 0 ? entries.remove(at: index).value.entry : nil
    }
    // The entry may be the last owner of a large state.
    _ = released
  }
}

/// The right to queue a transaction of a user. Keeps the user's state in memory until the object is
/// released.
package final class WriteReservation: Sendable {
  let user: UserID
  let states: DecidedStates.Entry
  /// The latest published state at the time of the reservation. Nil if it was not in memory, or if
  /// other transactions of the user could be queued.
  let published: UserState?
  private let all: DecidedStates

  init(of user: UserID, in all: DecidedStates, cache: StateCache) {
    self.user = user
    self.all = all
    let reserved = all.reserve(user) {
      let (cached, dropped) = cache.use(user)
      return (cached?.state, dropped)
    }
    (states, published) = (reserved.entry, reserved.published)
  }

  /// Whether the state must be loaded before a transaction can be queued.
  package var needsLoading: Bool { states.needsLoading }

  deinit { all.release(user) }
}
