import LockstepCollections
import LockstepModules
import LockstepReactor
import LockstepThreading

/// The users with open screens. Publishes each committed state of these users to their screens.
///
/// A newer state replaces an older one, so a slow screen misses states, but never the latest. After
/// the last screen of a user has ended, the user's next commit removes the user from here.
package final class FollowedUsers: Sendable {
  private struct Followed: Sendable {
    let subject = DispatchSubject<UserSnapshot?>()
    /// The newest known state.
    var state: UserState?
  }

  private struct Contents: Sendable {
    var users: [UserID: Followed] = [:]
    /// The number of users at which those without a screen are removed.
    var bound = 64
  }

  private let contents = LockedState(Contents())

  package init() {}

  var count: Int { contents.withLock { $0.users.count } }

  /// The states of a user that are published from now on.
  func publications(of user: UserID) -> BoundValue<UserSnapshot?> {
    contents.withLock { contents in
      if contents.users.count >= contents.bound {
        contents.users = contents.users.filter { $0.value.subject.subscriberCount > 0 }
        contents.bound = max(64, contents.users.count * 2)
      }
      let followed = contents.users[user] ?? Followed()
      contents.users[user] = followed
      return BoundValue(followed.subject, initial: nil)
    }
  }

  /// Remembers the state that a screen read from the store, unless a newer one was published.
  func remember(_ state: UserState, of user: UserID) {
    contents.withLock { contents in
      guard contents.users[user]?.state == nil else { return }
      contents.users[user]?.state = state
    }
  }

  /// Publishes a committed state. Called by one thread at a time, in the order of the commits.
  package func publish(_ state: UserState, of user: UserID, _ registered: RegisteredDefaults) {
    let followed = contents.withLock { contents -> Followed? in
      guard let followed = contents.users[user] else { return nil }
      guard followed.subject.subscriberCount > 0 else {
        contents.users[user] = nil
        return nil
      }
      contents.users[user]?.state = state
      return followed
    }
    followed?.subject.dispatch(UserSnapshot(state, registered))
  }

  /// Publishes changed registered defaults. Called by the same thread as the other `publish`.
  package func publish(_ registered: RegisteredDefaults) {
    for followed in contents.withLock({ Array($0.users.values) }) {
      guard let state = followed.state else { continue }
      followed.subject.dispatch(UserSnapshot(state, registered))
    }
  }
}

extension UserSnapshot {
  /// Contains the user's own values, and registered defaults for keys that the user has not set.
  convenience init(_ state: UserState, _ registered: RegisteredDefaults) {
    let suite = DefaultsAction.standardSuite
    let own = state.map(DefaultsAction.collection(suite))
    func text(_ key: String) -> String? {
      (own[key] ?? registered.value(of: key, in: suite, at: registered.revision))?.json.stringValue
    }
    self.init(
      Contents(
        favorites: state.list(CollectionName("favorites")),
        profile: state.map(CollectionName("profile")),
        language: text("language"),
        timeZone: text("timeZone")
      )
    )
  }
}
