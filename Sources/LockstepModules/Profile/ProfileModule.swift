import LockstepCollections
import LockstepJSON
import LockstepReactor

/// The module `profile`.
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

  /// Makes an action on the profile.
  package func action(_ action: ProfileAction) -> UserAction {
    UserAction(collection: ProfileReactor.collection, record: action.record.description) { surroundings in
      let state = surroundings.state.map(ProfileReactor.collection)
      return try ProfileReactor().decision(on: action, in: state).map(CollectionMutation.map)
    }
  }
}
