import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepSync

/// The module `favorites`.
package struct FavoritesModule: Sendable {
  let quota: FavoritesQuota

  package init(quota: FavoritesQuota) {
    self.quota = quota
  }

  package var userModule: UserModule {
    var module = UserModule(
      "favorites",
      reducer: .list(FavoritesReactor.reduce),
      cases: FavoritesAction.cases,
      state: Self.stateSchema
    ) {
      _,
      _,
      action in
      self.action(action)
    }
    module.storage = FavoritesTable()
    return module
  }

  /// Makes an action on the favorites.
  package func action(_ action: FavoritesAction) -> UserAction {
    UserAction(collection: FavoritesReactor.collection, record: action.record.description) { surroundings in
      let reactor = FavoritesReactor(quota: quota, now: surroundings.now)
      let state = surroundings.state.list(FavoritesReactor.collection)
      return try reactor.decision(on: action, in: state).map(CollectionMutation.list)
    }
  }

  /// The schema of the response to `GET /v1/favorites`.
  private static var stateSchema: JSON {
    let item = JSON.schema(ofObject: [
      SchemaMember(name: "id", schema: ["type": "string"]),
      SchemaMember(name: "title", schema: ["type": "string"], isRequired: false),
      SchemaMember(name: "data", schema: [:], isRequired: false),
      SchemaMember(name: "addedAt", schema: ["type": "string"]),
      SchemaMember(name: "updatedAt", schema: ["type": "string"]),
    ])
    return .schema(ofObject: [
      SchemaMember(name: "cursor", schema: ["type": "string"]), SchemaMember(name: "count", schema: .indexSchema),
      SchemaMember(name: "items", schema: ["type": "array", "items": item]),
    ])
  }
}
