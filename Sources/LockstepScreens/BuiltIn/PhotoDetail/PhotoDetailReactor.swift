import LockstepCollections
import LockstepJSON
import LockstepModules
import LockstepReactor
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
    var error: String?
    @HiddenField var content = FavoriteContent()
  }

  enum Action: Sendable {
    case toggleFavorite
  }

  enum Mutation: Sendable {
    case favorite(Favorite?)
    case failed(String?)
  }

  struct Favorite: Sendable {
    let content: FavoriteContent
    let dateAdded: String?
  }

  let user: ScreenUser
  let dates: any DateTexts
  let initialState: State

  init(photoId: String, user: ScreenUser, dates: any DateTexts) async {
    self.user = user
    self.dates = dates
    var state = State(photoId: photoId)
    Self.reduce(&state, .favorite(await Self.favorite(photoId, in: user.state, dates)))
    initialState = state
  }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .toggleFavorite:
      .concat(
        state.error == nil ? .none : .just(.failed(nil)),
        // Emits nothing on success, because the screen follows the user's state.
        .run { [user] emit in
          do throws(StateChangeError) {
            try await user.perform("favorites", "toggle", .object(state.content.object(withID: state.photoId)))
          } catch {
            try await emit(.failed(error.message))
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
        state.content = favorite.content
        state.title = favorite.content.title
      }
    case .failed(let message): state.error = message
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(user.states) { [photoId = initialState.photoId, dates] in
      .favorite(await Self.favorite(photoId, in: $0, dates))
    }
  }

  private static func favorite(_ id: String, in user: UserSnapshot, _ dates: any DateTexts) async -> Favorite? {
    guard let item = user.list("favorites")[id] else { return nil }
    var date: String?
    if let addedAt = item.object["addedAt"]?.stringValue.flatMap({ Timestamp($0) }) {
      date = await dates.text(
        addedAt,
        language: user.userDefault("language")?.stringValue,
        timeZone: user.userDefault("timeZone")?.stringValue
      )
    }
    return Favorite(content: FavoriteContent(of: item.object), dateAdded: date)
  }
}
