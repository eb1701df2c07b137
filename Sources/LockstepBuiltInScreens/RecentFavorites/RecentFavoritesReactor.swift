import LockstepCollections
import LockstepReactor
import LockstepScreens

/// The favorites that any device has added or changed last, the latest first.
struct RecentFavoritesReactor: Reactor {
  struct State: Sendable, Equatable {
    var photos: [Photo]
    /// The screen to open. A pulse, because a second tap on the same row is a second event.
    @Pulse var route: PhotoRoute?
    /// Whether the client shows the screen.
    @HiddenField var isActive = true
  }

  struct Photo: Sendable, Equatable {
    let id: String
    let title: String?
  }

  enum Action: Sendable {
    case viewWillAppear
    case tapPhoto(row: Int)
    case setActive(Bool)
  }

  enum Mutation: Sendable {
    case photos([Photo])
    case route(PhotoRoute)
    case routeCleared
    case active(Bool)
  }

  /// How many favorites the screen shows.
  static let length = 20

  let user: ScreenUser

  var initialState: State { State(photos: Self.photos(user.state)) }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .setActive(let isActive): return .just(.active(isActive))
    case _ where !state.isActive: return .failure(Refusal.inactive)
    case .viewWillAppear: return .just(.routeCleared)
    case .tapPhoto(let row):
      guard state.photos.indices.contains(row) else { return .failure(Refusal.noRow(row, of: state.photos.count)) }
      return .just(.route(.photoDetail(photoId: state.photos[row].id)))
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .photos(let photos): state.photos = photos
    case .route(let route): state.route = route
    case .routeCleared: state.$route.clear()
    case .active(let isActive): state.isActive = isActive
    }
  }

  func transform(mutation: Flow<Mutation>) -> Flow<Mutation> {
    mutation.merging(user.states) { .photos(Self.photos($0)) }
  }

  /// Hides states while the client does not show the screen.
  func transform(state: Flow<State>) -> Flow<State> { state.filter(\.isActive) }

  /// Only the favorites that are shown are decoded, because a list may be long.
  private static func photos(_ user: UserSnapshot) -> [Photo] {
    let items = Array(user.list("favorites").items)
    let latest = items.enumerated().sorted { ($0.element.revision, $0.offset) > ($1.element.revision, $1.offset) }
    return latest.prefix(length).map { _, item in
      Photo(id: item.id.text, title: item.object["title"]?.stringValue)
    }
  }
}
