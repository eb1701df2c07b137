import LockstepJSON
import LockstepReactor
import Synchronization

@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepScreens
@testable import LockstepStateTestSupport
@testable import LockstepStore

/// A user's state that a test controls.
final class StubUserStates: ScreenUsers {
  struct Change: Equatable {
    var toggled: String?
    var title: String?
    var saved: [String: String]?
  }

  private let subject = DispatchSubject<UserSnapshot?>()
  private let state: Mutex<(snapshot: UserSnapshot.Contents, changes: [Change], failure: StateChangeError?)>

  init(_ contents: UserSnapshot.Contents = UserSnapshot.Contents()) {
    state = Mutex((contents, [], nil))
  }

  /// The requested changes, in order.
  var changes: [Change] { state.withLock { $0.changes } }

  /// From now on, all changes fail with this error. If it is nil, they succeed.
  func fail(with error: StateChangeError?) { state.withLock { $0.failure = error } }

  /// Publishes a change of the state.
  func announce(_ change: (inout UserSnapshot.Contents) -> Void) {
    let snapshot = state.withLock { state in
      change(&state.snapshot)
      return state.snapshot
    }
    subject.dispatch(UserSnapshot(snapshot))
  }

  /// The user, whose state is followed from now on.
  var user: ScreenUser {
    let found = UserSnapshot(state.withLock { $0.snapshot })
    let followed = FollowedState(published: PublishedStates(of: subject), found: found, names: found.names)
    return ScreenUser(LiveSession.stub().user, followed) { [self] actions in
      for action in actions { try perform(action) }
    }
  }

  func open(
    for session: LiveSession,
    from network: ClientNetwork,
    following names: Set<CollectionName>
  ) async throws -> (user: ScreenUser, language: UserLanguage) {
    (user, UserLanguage(own: state.withLock { $0.snapshot.language }))
  }

  private func perform(_ action: ModuleAction) throws(StateChangeError) {
    let payload = action.payload.objectValue ?? JSONObject()
    if action.module == "favorites", action.type == "toggle", let id = payload["id"]?.stringValue {
      let title = payload["title"]?.stringValue
      try note(Change(toggled: id, title: title))
      announce { $0.favorites.apply($0.favorites[id] != nil ? .removed(id: id) : .inserted(id: id, title: title)) }
    } else {
      let texts = payload.compactMap { member in member.value.stringValue.map { (member.name, $0) } }
      try note(Change(saved: Dictionary(texts) { first, _ in first }))
      announce { contents in
        for (name, text) in texts { contents.profile.apply(.set(key: name, value: EncodedJSON(.string(text)))) }
      }
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
  /// The parts of a state that built-in screens follow.
  struct Contents: Sendable {
    var favorites = ListState()
    var profile = MapState()
    var language: String?
    var timeZone: String?

    /// A state with these favorites.
    static func favorites(_ ids: String...) -> Contents {
      var contents = Contents()
      for id in ids { contents.favorites.apply(.inserted(id: id)) }
      return contents
    }
  }

  convenience init(_ contents: Contents) {
    var defaults = MapState()
    for (key, text) in [("language", contents.language), ("timeZone", contents.timeZone)] {
      if let text { defaults.apply(.set(key: key, value: EncodedJSON(.string(text)))) }
    }
    let suite = Suite.collection("standard")
    let (favorites, profile) = (CollectionName("favorites"), CollectionName("profile"))
    self.init(
      [favorites: .list(contents.favorites), profile: .map(contents.profile), suite: .map(defaults)],
      [favorites, profile, suite]
    )
  }
}

extension LiveSession {
  /// A session of an arbitrary user.
  static func stub() -> LiveSession {
    let zero = UUIDv7Generator(now: { 0 }, random: { 0 })
    return LiveSession(id: SessionID(zero.next()), user: UserID(zero.next()), tokenHash: TokenHash(words: .zero))
  }
}
