import LockstepCollections
import LockstepJSON
import LockstepReactor

/// The profile, as the product uses it.
package struct ProfileModule: Sendable {
  package init() {}
  package var userModule: UserModule {
    var module = UserModule(
      "profile",
      reducer: .map(ProfileReactor.reduce),
      cases: ProfileAction.cases,
      state: .schema(ofObject: ProfileAction.schemaMembers)
    ) { _, _, action in
      self.action(action)
    }
    module.storage = ProfileTable()
    return module
  }

  /// An action on its way to the reactor.
  package func action(_ action: ProfileAction) -> UserAction {
    UserAction(collection: ProfileReactor.collection, record: action.record.description) { surroundings in
      let state = surroundings.state.map(ProfileReactor.collection)
      return try ProfileReactor().decision(on: action, in: state).map(CollectionMutation.map)
    }
  }
}
