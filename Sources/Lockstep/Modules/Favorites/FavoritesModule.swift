import Reactor

/// Favorites, as the product uses them.
struct FavoritesModule: Sendable {
  let quota: FavoritesQuota

  var userModule: UserModule {
    UserModule(service: FavoritesService()) { type, payload throws(Refusal) in
      try FavoritesAction(type: type, payload: payload).map { self.action($0) }
    }
  }

  /// An action on its way to the reactor.
  func action(_ action: FavoritesAction) -> UserAction {
    UserAction(collection: FavoritesReactor.collection, record: action.record.description) { surroundings in
      let reactor = FavoritesReactor(quota: quota, now: surroundings.now)
      let state = surroundings.state.list(FavoritesReactor.collection)
      return try reactor.decision(on: action, in: state).map(CollectionMutation.list)
    }
  }
}
