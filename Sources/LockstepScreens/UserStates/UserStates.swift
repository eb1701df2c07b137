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

/// Why a state was not changed.
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
    /// The user's defaults of these names, own or registered; `nil` if they are not strings.
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
  /// Bound before `found` was read.
  let published: BoundValue<UserSnapshot?>
  let found: UserSnapshot

  var latest: UserSnapshot { published.value ?? found }

  /// The newest published state, if any, then each newer one, converted by `element`.
  func changes<Element: Sendable>(
    as element: @escaping @Sendable (UserSnapshot) async -> Element
  ) -> FollowedChanges<Element> {
    FollowedChanges(states: published.values, element: element)
  }
}

/// Published states of a user, converted. It is one sequence, because a chain of sequences would
/// keep a frame of each in every waiting screen.
struct FollowedChanges<Element: Sendable>: AsyncSequence, Sendable {
  typealias Failure = Never

  let states: LatestValues<UserSnapshot?>
  let element: @Sendable (UserSnapshot) async -> Element

  func makeAsyncIterator() -> Iterator { Iterator(states: states.makeAsyncIterator(), element: element) }

  struct Iterator: AsyncIteratorProtocol {
    var states: LatestValues<UserSnapshot?>.Iterator
    let element: @Sendable (UserSnapshot) async -> Element

    mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      while let state = await states.next(isolation: actor) {
        if let state { return await element(state) }
      }
      return nil
    }
  }
}
