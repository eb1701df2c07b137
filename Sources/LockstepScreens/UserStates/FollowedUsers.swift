import LockstepCollections
import LockstepModules
import LockstepReactor
import LockstepThreading

/// The users whose state somebody follows: to each of them it's announced what was committed.
///
/// The newest replaces what is older, so that who is slow misses states, never the latest one. Who isn't followed costs
/// nothing.
package final class FollowedUsers: Sendable {
  private struct Followed: Sendable {
    let subject = DispatchSubject<UserSnapshot?>()
    /// The state that was known last.
    var state: UserState?
  }

  private struct Contents: Sendable {
    var users: [UserID: Followed] = [:]
    /// How many may be there before those are swept away that nobody follows any more.
    var bound = 64
  }

  private let contents = LockedState(Contents())

  package init() {}

  /// How many users are known, followed or not any more.
  var count: Int { contents.withLock { $0.users.count } }

  /// What will be announced of a user, from now on.
  func announcements(of user: UserID) -> BoundValue<UserSnapshot?> {
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

  /// A state of a user who is followed was found in the store.
  func note(_ state: UserState, of user: UserID) {
    contents.withLock { contents in
      guard contents.users[user]?.state == nil else { return }
      contents.users[user]?.state = state
    }
  }

  /// A state was committed. To be called by one thread at a time, in the order of the commits.
  package func announce(_ state: UserState, of user: UserID, _ registered: RegisteredDefaults) {
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

  /// What is registered for everybody has changed. To be called by the same thread.
  package func announce(_ registered: RegisteredDefaults) {
    for followed in contents.withLock({ Array($0.users.values) }) {
      guard let state = followed.state else { continue }
      followed.subject.dispatch(UserSnapshot(state, registered))
    }
  }
}

extension UserSnapshot {
  /// What a state shows, before what is registered for everybody.
  init(_ state: UserState, _ registered: RegisteredDefaults) {
    let suite = DefaultsAction.standardSuite
    let own = state.map(DefaultsAction.collection(suite))
    func text(_ key: String) -> String? {
      (own[key] ?? registered.value(of: key, in: suite, at: registered.revision))?.json.stringValue
    }
    self.init(
      Contents(
        favorites: state.list(FavoritesReactor.collection),
        profile: state.map(ProfileReactor.collection),
        language: text("language"),
        timeZone: text("timeZone")
      )
    )
  }
}
