import LockstepReactor
import Synchronization

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepScreens
@testable import LockstepStore

/// A user's state that a test controls.
final class StubUserStates: UserStates {
  struct Change: Equatable {
    var toggled: String?
    var title: String?
    var saved: [String: String]?
  }

  private let subject = DispatchSubject<UserSnapshot?>()
  private let state = Mutex((snapshot: UserSnapshot.Contents(), changes: [Change](), failure: StateChangeError?.none))

  init(_ snapshot: UserSnapshot = UserSnapshot()) {
    state.withLock { $0.snapshot = snapshot.contents }
  }

  /// The requested changes, in order.
  var changes: [Change] { state.withLock { $0.changes } }

  /// From now on, all changes fail with this message. If it is nil, they succeed.
  func fail(with message: String?) {
    state.withLock { $0.failure = message.map { StateChangeError(message: $0) } }
  }

  /// Publishes a change of the state.
  func announce(_ change: (inout UserSnapshot.Contents) -> Void) {
    let snapshot = state.withLock { state in
      change(&state.snapshot)
      return state.snapshot
    }
    subject.dispatch(UserSnapshot(snapshot))
  }

  /// Follows the state from now on.
  var followed: FollowedState {
    FollowedState(published: PublishedStates(of: subject), found: UserSnapshot(state.withLock { $0.snapshot }))
  }

  func follow(_ session: LiveSession) async throws -> FollowedState { followed }

  func toggleFavorite(_ id: String, _ content: FavoriteContent, by session: LiveSession) async throws(StateChangeError)
  {
    try note(Change(toggled: id, title: content.title))
    announce { snapshot in
      let isThere = snapshot.favorites[id] != nil
      snapshot.favorites.apply(isThere ? .removed(id: id) : .inserted(id: id, title: content.title))
    }
  }

  func saveProfile(_ fields: [String: String], by session: LiveSession) async throws(StateChangeError) {
    try note(Change(saved: fields))
    announce { snapshot in
      for (name, text) in fields { snapshot.profile.apply(.set(key: name, value: EncodedJSON(.string(text)))) }
    }
  }

  private func note(_ change: Change) throws(StateChangeError) {
    let failure = state.withLock { state in
      state.changes.append(change)
      return state.failure
    }
    if let failure { throw failure }
  }
}

extension ListMutation {
  /// Inserts a favorite at the end, added at a fixed time.
  static func inserted(id: String, title: String? = nil, at index: Int = .max) -> ListMutation {
    let title = title.map { #""title":"\#($0)","# } ?? ""
    let item = #"{"id":"\#(id)",\#(title)"addedAt":"2026-11-21T05:06:07.000Z"}"#
    return .inserted(id: id, item: EncodedJSON(text: item), index: index)
  }
}

extension UserSnapshot {
  /// A snapshot with these favorites.
  static func favorites(_ ids: String...) -> UserSnapshot {
    var contents = Contents()
    for id in ids { contents.favorites.apply(.inserted(id: id)) }
    return UserSnapshot(contents)
  }
}

extension LiveSession {
  /// A session of an arbitrary user.
  static func stub() -> LiveSession {
    let zero = UUIDv7Generator(now: { 0 }, random: { 0 })
    return LiveSession(id: SessionID(zero.next()), user: UserID(zero.next()), tokenHash: TokenHash(words: .zero))
  }
}
