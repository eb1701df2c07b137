import LockstepCollections
import LockstepReactor
import LockstepScreens

/// The list of a user's favorites as a screen. It follows changes from all devices.
struct FavoritesTopReactor: Reactor {
  struct State: Sendable, Equatable {
    var favoriteIds: [String]
    /// The screen to open. A pulse, because a second tap on the same row is a second event.
    @Pulse var route: PhotoRoute?
    /// Whether the client shows the screen.
    @HiddenField var isActive = true
  }

  enum Action: Sendable {
    case viewWillAppear
    case tapFavoritePhoto(row: Int)
    case setActive(Bool)
  }

  enum Mutation: Sendable {
    case favorites([String])
    case route(PhotoRoute)
    case routeCleared
    case active(Bool)
  }

  let user: ScreenUser

  var initialState: State { State(favoriteIds: Self.ids(user.state)) }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setActive(let isActive): return .just(.active(isActive))
    case _ where !state.isActive: return .failure(Refusal.inactive)
    case .viewWillAppear: return .just(.routeCleared)
    case .tapFavoritePhoto(let row):
      guard state.favoriteIds.indices.contains(row) else {
        return .failure(Refusal.noRow(row, of: state.favoriteIds.count))
      }
      return .just(.route(.photoDetail(photoId: state.favoriteIds[row])))
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .favorites(let ids): state.favoriteIds = ids
    case .route(let route): state.route = route
    case .routeCleared: state.$route.clear()
    case .active(let isActive): state.isActive = isActive
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(user.states) { .favorites(Self.ids($0)) }
  }

  /// Hides states while the client does not show the screen.
  func transform(state: Flow<State>) -> Flow<State> { state.filter(\.isActive) }

  private static func ids(_ user: UserSnapshot) -> [String] { user.list("favorites").items.map(\.id.text) }
}
