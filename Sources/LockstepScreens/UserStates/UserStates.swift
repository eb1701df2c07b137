import LockstepAccounts
import LockstepCollections
import LockstepModules
import LockstepReactor

/// Reads and changes a user's state for screens.
package protocol UserStates: Sendable {
  /// The state of a session's user, and all its later states.
  func follow(_ session: LiveSession) async throws -> FollowedState

  /// Adds a favorite with this content, or removes it if it exists.
  func toggleFavorite(_ id: String, _ content: FavoriteContent, by session: LiveSession) async throws(StateChangeError)

  func saveProfile(_ fields: [String: String], by session: LiveSession) async throws(StateChangeError)
}

package struct StateChangeError: Error, Equatable {
  /// A sentence for users.
  let message: String
}

/// The parts of a user's state that screens show.
///
/// A class, because each waiting screen keeps several references in the frames of its tasks.
@dynamicMemberLookup
final class UserSnapshot: Sendable, Equatable {
  struct Contents: Sendable, Equatable {
    var favorites = ListState()
    var profile = MapState()
    /// The user defaults with these names, set by the user or registered; `nil` if not strings.
    var language: String?
    var timeZone: String?
  }

  let contents: Contents

  init(_ contents: Contents = Contents()) { self.contents = contents }

  subscript<Value>(dynamicMember member: KeyPath<Contents, Value>) -> Value { contents[keyPath: member] }

  static func == (left: UserSnapshot, right: UserSnapshot) -> Bool {
    left === right || left.contents == right.contents
  }
}

/// A user's state at one moment and all its later states, without a gap between them.
package struct FollowedState: Sendable {
  /// The states since the subscription, which began before `found` was read. So no commit between
  /// the two is missed.
  let published: PublishedStates
  let found: UserSnapshot

  var latest: UserSnapshot { published.value ?? found }

  /// Adds the newest published state, if there is one, and all later states to a flow.
  func merged<Element>(
    into flow: Flow<Element>,
    as convert: @escaping @Sendable (UserSnapshot) async -> Element
  ) -> Flow<Element> {
    flow.merging(published.values) { state in
      if let state { await convert(state) } else { nil }
    }
  }
}
