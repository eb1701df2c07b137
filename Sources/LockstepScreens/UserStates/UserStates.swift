import LockstepAccounts
import LockstepCollections
import LockstepModules
import LockstepReactor

/// A user's state and how it's changed, as screens need it.
package protocol UserStates: Sendable {
  /// The state of a session's user, and all that becomes of it from then on.
  func follow(_ session: LiveSession) async throws -> FollowedState

  /// Adds a favorite with this content, or removes it where it is.
  func toggleFavorite(_ id: String, _ content: FavoriteContent, by session: LiveSession) async throws(StateChangeError)

  /// Saves fields of the profile.
  func saveProfile(_ fields: [String: String], by session: LiveSession) async throws(StateChangeError)
}

/// A state wasn't changed.
package struct StateChangeError: Error, Equatable {
  /// Why, in a sentence for people.
  let message: String
}

/// What screens know of a user at one moment.
///
/// A value that takes no more room than a reference: each screen that waits has several of it in the frames of its tasks.
@dynamicMemberLookup
struct UserSnapshot: Sendable, Equatable {
  struct Contents: Sendable, Equatable {
    var favorites = ListState()
    var profile = MapState()
    /// The user's defaults `language` and `timeZone`, or what the app has registered for all; nil where they're no strings.
    var language: String?
    var timeZone: String?
  }

  private final class Box: Sendable {
    let contents: Contents

    init(_ contents: Contents) { self.contents = contents }
  }

  private var box: Box

  init(_ contents: Contents = Contents()) { box = Box(contents) }

  subscript<Value>(dynamicMember member: WritableKeyPath<Contents, Value>) -> Value {
    get { box.contents[keyPath: member] }
    set {
      var contents = box.contents
      contents[keyPath: member] = newValue
      box = Box(contents)
    }
  }

  static func == (left: UserSnapshot, right: UserSnapshot) -> Bool {
    left.box === right.box || left.box.contents == right.box.contents
  }
}

/// A user's state, followed from one moment on: nothing falls between what it was and what becomes of it.
package struct FollowedState: Sendable {
  private let announced: BoundValue<UserSnapshot?>
  private let found: UserSnapshot

  /// - Parameters:
  ///   - announced: What was announced since before `found` was looked up.
  ///   - found: What was found.
  init(_ announced: BoundValue<UserSnapshot?>, found: UserSnapshot) {
    self.announced = announced
    self.found = found
  }

  /// The latest.
  var latest: UserSnapshot { announced.value ?? found }

  /// What is announced, as `element` makes it: the latest where it has been already, then each newer one.
  func changes<Element: Sendable>(
    as element: @escaping @Sendable (UserSnapshot) async -> Element
  ) -> FollowedChanges<Element> {
    FollowedChanges(states: announced.values, element: element)
  }
}

/// What becomes of a user's state, made into something else: one sequence instead of several around each other, each of which
/// would keep its frame in every screen that waits.
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
