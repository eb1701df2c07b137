import LockstepCollections
import LockstepReactor

/// The list of a user's favorites as a screen. It follows changes from all devices.
struct FavoritesTopReactor: Reactor {
  struct State: Sendable, Equatable {
    var favoriteIds: [String]
    /// The screen to open. A pulse, because a second tap on the same row is a second event.
    @Pulse var route: Route?
    /// Whether the client shows the screen.
    @HiddenField var isActive = true
  }

  enum Route: Sendable, Equatable {
    case photoDetail(photoId: String)
  }

  enum Action: Sendable {
    case viewWillAppear
    case tapFavoritePhoto(row: Int)
    case setActive(Bool)
  }

  enum Mutation: Sendable {
    case favorites([String])
    case route(Route?)
    case active(Bool)
  }

  let user: FollowedState

  var initialState: State { State(favoriteIds: Self.ids(user.latest)) }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .viewWillAppear: return state.route == nil ? .none : .just(.route(nil))
    case .tapFavoritePhoto(let row):
      guard state.favoriteIds.indices.contains(row) else {
        return .failure(Refusal.invalid("/row", "There is no row \(row). Number of rows: \(state.favoriteIds.count)."))
      }
      return .just(.route(.photoDetail(photoId: state.favoriteIds[row])))
    case .setActive(let isActive): return .just(.active(isActive))
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .favorites(let ids): state.favoriteIds = ids
    case .route(let route): state.route = route
    case .active(let isActive): state.isActive = isActive
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    user.merged(into: mutation) { .favorites(Self.ids($0)) }
  }

  /// Hides states while the client does not show the screen.
  func transform(state: Flow<State>) -> Flow<State> { state.filter(\.isActive) }

  private static func ids(_ user: UserSnapshot) -> [String] { user.favorites.items.map(\.id.text) }
}

extension FavoritesTopReactor {
  /// `link` returns the `href` of the screen that a route opens.
  static func declaration(link: @escaping @Sendable (Route) -> String?) -> ScreenDeclaration<FavoritesTopReactor> {
    let route = ValueFormat<Route>(
      .member("name", .text) { _ in "photoDetail" },
      .member("photoId", .text) { route in
        switch route {
        case .photoDetail(let photoId): photoId
        }
      },
      .optional("href", .text, link)
    )
    return ScreenDeclaration(
      name: "favoritesTop",
      actions: [
        ActionCase("viewWillAppear") { .viewWillAppear },
        ActionCase("tapFavoritePhoto", .index("row")) { .tapFavoritePhoto(row: $0) },
        ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: ValueFormat(.member("favoriteIds", .list(of: .text), \.favoriteIds), .optional("route", route, \.route))
    )
  }
}
