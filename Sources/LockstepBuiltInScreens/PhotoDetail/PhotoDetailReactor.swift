import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepScreens
import LockstepTime

/// One photo as a screen. It shows whether the photo is a favorite, and since when.
struct PhotoDetailReactor: Reactor {
  struct State: Sendable, Equatable {
    let photoId: String
    /// The title of the favorite. It stays when the favorite is removed, so that the user can add
    /// the same favorite again.
    var title: String?
    var isFavorite = false
    /// The date in the user's language and time zone.
    var dateAdded: String?
    /// Why the last toggle failed.
    @Pulse var error: String?
    /// The payload of the action that adds the favorite again.
    @HiddenField var addition: JSONObject = [:]
    /// Whether the client shows the screen.
    @HiddenField var isActive = true
  }

  enum Action: Sendable {
    case toggleFavorite
    case setActive(Bool)
  }

  enum Mutation: Sendable {
    case favorite(Favorite?)
    case toggling
    case failed(String)
    case active(Bool)
  }

  struct Favorite: Sendable {
    /// The id, the title and the data.
    let addition: JSONObject
    let dateAdded: String?
  }

  let screen: ScreenContext
  let user: ScreenUser
  let dates: any DateTexts
  let initialState: State

  init(photoId: String, screen: ScreenContext, user: ScreenUser, dates: any DateTexts) async {
    self.screen = screen
    self.user = user
    self.dates = dates
    var state = State(photoId: photoId, addition: ["id": .string(photoId)])
    Self.reduce(&state, .favorite(await Self.favorite(photoId, in: user.state, screen, dates)))
    initialState = state
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setActive(let isActive): .just(.active(isActive))
    case _ where !state.isActive: .failure(Refusal.inactive)
    case .toggleFavorite:
      .concat(
        .just(.toggling),
        // Emits nothing on success, because the screen follows the user's state.
        .run { [screen, user] emit in
          do throws(StateChangeError) {
            try await user.perform("favorites", "toggle", .object(state.addition))
          } catch {
            if error.mayPass { screen.report(error, in: "favorites") }
            try await emit(.failed(error.text(ScreenLanguage(of: screen))))
          }
        }
      )
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .favorite(let favorite):
      state.isFavorite = favorite != nil
      state.dateAdded = favorite?.dateAdded
      if let favorite {
        state.addition = favorite.addition
        state.title = favorite.addition["title"]?.stringValue
      }
    case .toggling: state.$error.clear()
    case .failed(let message): state.error = message
    case .active(let isActive): state.isActive = isActive
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(user.states) { [photoId = initialState.photoId, screen, dates] in
      .favorite(await Self.favorite(photoId, in: $0, screen, dates))
    }
  }

  /// Hides states while the client does not show the screen.
  func transform(state: Flow<State>) -> Flow<State> { state.filter(\.isActive) }

  private static func favorite(
    _ id: String,
    in user: UserSnapshot,
    _ screen: ScreenContext,
    _ dates: any DateTexts
  ) async -> Favorite? {
    guard let item = user.list("favorites")[id] else { return nil }
    var date: String?
    if let addedAt = item.object["addedAt"]?.stringValue.flatMap({ Timestamp($0) }) {
      date = await dates.text(
        addedAt,
        languages: user.languages(screen),
        timeZone: user.userDefault("timeZone")?.stringValue
      )
    }
    var addition: JSONObject = ["id": .string(id)]
    for name in ["title", "data"] { addition[name] = item.object[name] }
    return Favorite(addition: addition, dateAdded: date)
  }
}
