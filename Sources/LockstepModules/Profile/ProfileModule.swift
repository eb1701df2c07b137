import LockstepJSON
import LockstepReactor

/// The profile, as the product uses it.
struct ProfileModule: Sendable {
  var userModule: UserModule {
    UserModule(
      service: ProfileService(),
      cases: ProfileAction.cases,
      // What `GET /v1/profile` gives, which is what `save` takes.
      state: .schema(ofObject: ProfileAction.schemaMembers),
      make: action(_:)
    )
  }

  /// An action on its way to the reactor.
  func action(_ action: ProfileAction) -> UserAction {
    UserAction(collection: ProfileReactor.collection, record: action.record.description) { surroundings in
      let state = surroundings.state.map(ProfileReactor.collection)
      return try ProfileReactor().decision(on: action, in: state).map(CollectionMutation.map)
    }
  }
}
