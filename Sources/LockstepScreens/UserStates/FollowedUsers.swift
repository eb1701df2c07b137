import LockstepCollections
import LockstepModules
import LockstepReactor
import LockstepThreading

/// The users with open screens. Publishes each committed state of these users to their screens.
///
/// A newer state replaces an older one, so a slow screen misses states, but never the latest. Of a
/// state, only the parts that screens show are kept. When the last screen of a user ends, the user
/// is removed from here.
package final class FollowedUsers: Sendable {
  private struct Followed: Sendable {
    let subject = DispatchSubject<UserSnapshot?>()
    var followers = 0
    /// The newest known values.
    var own: UserSnapshot.OwnValues?
  }

  private let users = LockedState<[UserID: Followed]>([:])
  /// Held while states are passed on, so that a newer state of a user follows an older one.
  private let passing = LockedState(0)

  package init() {}

  var count: Int { users.withLock { $0.count } }

  /// The states of a user that are published from now on.
  func publications(of user: UserID) -> PublishedStates {
    let subject = users.withLock { users in
      users[user, default: Followed()].followers += 1
      return users[user, default: Followed()].subject
    }
    return PublishedStates(of: subject) { [self] in leave(user) }
  }

  private func leave(_ user: UserID) {
    // Releases the values after the lock, because they may be large.
    let removed = users.withLock { users -> Followed? in
      users[user]?.followers -= 1
      return users[user]?.followers == 0 ? users.removeValue(forKey: user) : nil
    }
    withExtendedLifetime(removed) {}
  }

  /// Remembers the state that a screen read from the store, unless a newer one was published.
  func remember(_ state: UserState, of user: UserID) {
    users.withLock { users in
      guard let followed = users[user], followed.own == nil else { return }
      users[user]?.own = UserSnapshot.OwnValues(state)
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
      let own = UserSnapshot.OwnValues(state)
      let subject = users.withLock { users in
        users[user]?.own = own
        return users[user]?.subject
      }
      subject?.dispatch(UserSnapshot(own, registered))
    }
  }

  /// Publishes changed registered defaults.
  package func publish(_ registered: RegisteredDefaults) {
    passing.withLock { _ in
      for followed in users.withLock({ Array($0.values) }) {
        guard let own = followed.own else { continue }
        followed.subject.dispatch(UserSnapshot(own, registered))
      }
    }
  }
}

/// The states of a user since a screen began to follow the user. Releasing this ends that.
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

extension UserSnapshot {
  /// The user's own values that a snapshot shows.
  struct OwnValues: Sendable {
    let favorites: ListState
    let profile: MapState
    let language: MapValue?
    let timeZone: MapValue?

    init(_ state: UserState) {
      let standard = state.map(DefaultsAction.collection(DefaultsAction.standardSuite))
      favorites = state.list(CollectionName("favorites"))
      profile = state.map(CollectionName("profile"))
      language = standard["language"]
      timeZone = standard["timeZone"]
    }
  }

  /// Contains the user's own values, and registered defaults for keys that the user has not set.
  convenience init(_ own: OwnValues, _ registered: RegisteredDefaults) {
    func text(_ own: MapValue?, _ key: String) -> String? {
      let suite = DefaultsAction.standardSuite
      return (own ?? registered.value(of: key, in: suite, at: registered.revision))?.json.stringValue
    }
    self.init(
      Contents(
        favorites: own.favorites,
        profile: own.profile,
        language: text(own.language, "language"),
        timeZone: text(own.timeZone, "timeZone")
      )
    )
  }
}
