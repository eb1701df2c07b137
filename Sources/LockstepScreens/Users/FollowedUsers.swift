import LockstepCollections
import LockstepReactor
import LockstepThreading

/// The users with open screens. Publishes each committed state of these users to their screens.
///
/// A newer state replaces an older one, so a slow screen misses states, but never the latest. This
/// object keeps only the collections that open screens follow. When the last screen of a user ends,
/// it removes the user.
package final class FollowedUsers: Sendable {
  private struct Followed: Sendable {
    let subject = DispatchSubject<UserSnapshot?>()
    var followers = 0
    /// How many screens follow each collection.
    var names: [CollectionName: Int] = [:]
    /// The newest known state.
    var newest: (revision: Revision, snapshot: UserSnapshot)?

    mutating func keep(_ state: UserState, _ registered: RegisteredDefaults) -> UserSnapshot {
      let snapshot = UserSnapshot(state.collections, Set(names.keys), registered)
      newest = (state.revision, snapshot)
      return snapshot
    }
  }

  private let users = LockedState<[UserID: Followed]>([:])
  /// Held while states are passed on, so that a newer state of a user follows an older one.
  private let passing = LockedState(0)

  package init() {}

  var count: Int { users.withLock { $0.count } }

  /// The states of a user that are published from now on, with these collections.
  func publications(of user: UserID, _ names: Set<CollectionName>) -> PublishedStates {
    let subject = users.withLock { users in
      users[user, default: Followed()].followers += 1
      for name in names { users[user, default: Followed()].names[name, default: 0] += 1 }
      return users[user, default: Followed()].subject
    }
    return PublishedStates(of: subject) { [self] in leave(user, names) }
  }

  private func leave(_ user: UserID, _ names: Set<CollectionName>) {
    // Releases the values after the lock, because they may be large.
    let removed = users.withLock { users -> Followed? in
      guard var followed = users[user] else { return nil }
      followed.followers -= 1
      for name in names {
        let count = (followed.names[name] ?? 1) - 1
        followed.names[name] = count == 0 ? nil : count
      }
      users[user] = followed.followers == 0 ? nil : followed
      return followed
    }
    withExtendedLifetime(removed) {}
  }

  /// Remembers the state that a screen read from the store, unless a newer one was published with all
  /// collections that the screen follows.
  func remember(_ state: UserState, of user: UserID, _ registered: RegisteredDefaults) {
    users.withLock { users in
      guard let followed = users[user] else { return }
      if let newest = followed.newest, newest.revision >= state.revision,
        newest.snapshot.names.isSuperset(of: followed.names.keys)
      {
        return
      }
      _ = users[user]?.keep(state, registered)
    }
  }

  /// Publishes a committed state. `isNewest` tells whether no newer one has been published.
  package func publish(
    _ state: UserState,
    of user: UserID,
    _ registered: RegisteredDefaults,
    isNewest: () -> Bool = { true }
  ) {
    guard users.withLock({ $0[user] != nil }) else { return }
    passing.withLock { _ in
      guard isNewest() else { return }
      let publication = users.withLock { users -> (DispatchSubject<UserSnapshot?>, UserSnapshot)? in
        guard var followed = users[user] else { return nil }
        let snapshot = followed.keep(state, registered)
        users[user] = followed
        return (followed.subject, snapshot)
      }
      if let (subject, snapshot) = publication { subject.dispatch(snapshot) }
    }
  }

  /// Publishes changed registered defaults.
  package func publish(_ registered: RegisteredDefaults) {
    passing.withLock { _ in
      for followed in users.withLock({ Array($0.values) }) {
        guard let newest = followed.newest?.snapshot, newest.followsDefaults else { continue }
        followed.subject.dispatch(UserSnapshot(newest.collections, newest.names, registered))
      }
    }
  }
}

/// The states of a user since a screen began to follow the user. The screen follows the user until
/// this object is released.
package final class PublishedStates: Sendable {
  private let states: BoundValue<UserSnapshot?>
  private let end: @Sendable () -> Void

  /// `end` is called once, when this is released.
  init(of subject: DispatchSubject<UserSnapshot?>, end: @escaping @Sendable () -> Void = {}) {
    states = BoundValue(subject, initial: nil)
    self.end = end
  }

  deinit { end() }

  /// The newest state, or `nil` if none was published.
  var value: UserSnapshot? { states.value }

  /// The newest state at once, then each newer one that differs.
  var values: LatestValues<UserSnapshot?> { states.values }
}
