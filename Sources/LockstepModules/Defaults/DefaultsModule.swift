import LockstepCollections
import LockstepJSON
import LockstepReactor
import LockstepSync

/// The module `defaults`.
package struct DefaultsModule: Sendable {
  package let quota: DefaultsQuota

  package init(quota: DefaultsQuota) {
    self.quota = quota
  }

  package var userModule: UserModule {
    var module = UserModule(
      "defaults",
      reducer: .map(DefaultsReactor.reduce),
      hasParts: true,
      cases: SuiteAction.cases,
      state: Self.stateSchema
    ) {
      _,
      _,
      action in
      self.action(action.action, suite: action.suite)
    }
    module.storage = DefaultsTable()
    return module
  }

  /// Makes an action on a suite.
  package func action(_ action: DefaultsAction, suite: String) -> UserAction {
    let collection = DefaultsAction.collection(suite)
    return UserAction(collection: collection, record: action.record(suite: suite)) { surroundings in
      let state = surroundings.state.map(collection)
      let registered = surroundings.registered
      let reactor = DefaultsReactor(quota: quota) { registered.value(of: $0, in: suite, at: registered.revision) }
      let mutations = try reactor.decision(on: action, in: state)
      if state.count == 0, !mutations.isEmpty { try checkSuites(surroundings.state, collection) }
      return mutations.map(CollectionMutation.map)
    }
  }

  /// Throws if the user may not have another suite.
  private func checkSuites(_ state: UserState, _ suite: CollectionName) throws(Refusal) {
    let suites = state.collections.lazy.filter { $0.key.module == "defaults" }
    let used = suites.filter { $0.value.count > 0 }.count
    if used >= quota.suites {
      throw .quotaExceeded("There are \(used) suites with values, which is as many as a user may have.")
    }
    // Empty suites stay in the state, so that all devices learn that they are empty.
    if state.collections[suite] == nil, suites.count >= quota.suites * Self.emptiedSuites {
      throw .quotaExceeded(
        "There were \(suites.count) suites, which is as many as a user may name; take one that was emptied."
      )
    }
  }

  /// The bound on suites that were ever named, as a multiple of the bound on suites with values.
  private static let emptiedSuites = 16

  /// The schema of the response to `GET /v1/defaults/{suite}`.
  private static var stateSchema: JSON {
    .schema(ofObject: [
      SchemaMember(name: "cursor", schema: ["type": "string"]),
      SchemaMember(name: "values", schema: ["type": "object"]),
      SchemaMember(name: "registered", schema: ["type": "array", "items": ["type": "string"]]),
    ])
  }
}
