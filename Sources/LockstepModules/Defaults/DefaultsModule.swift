import LockstepCollections
import LockstepJSON

package struct DefaultsModule: Sendable {
  package let userModule: UserModule
  package let quota: DefaultsQuota

  package init(quota: DefaultsQuota) {
    self.quota = quota
    userModule = UserModule(
      "defaults",
      shape: .map,
      reducer: .map(ValuesReactor.reduce),
      hasParts: true,
      cases: SuiteAction.cases(.any, .suite),
      state: .schema(ofObject: [
        SchemaMember(name: "cursor", schema: ["type": "string"]),
        SchemaMember(name: "values", schema: ["type": "object"]),
        SchemaMember(name: "registered", schema: ["type": "array", "items": ["type": "string"]]),
      ])
    ) { _, _, action in Self.action(action.action, suite: action.suite ?? Suite.standard, quota) }
  }

  package func action(_ action: ValuesAction, suite: String) -> UserAction {
    Self.action(action, suite: suite, quota)
  }

  private static func action(_ action: ValuesAction, suite: String, _ quota: DefaultsQuota) -> UserAction {
    let collection = Suite.collection(suite)
    return UserAction(collection: collection, record: action.record(suite: suite)) { context in
      let state = context.state.map(collection)
      let registered = context.registered
      let reactor = ValuesReactor(quota: quota, budget: context.budget) {
        registered.value(of: $0, in: suite, at: registered.revision)
      }
      let mutations = try reactor.mutate(action, in: state)
      if state.count == 0, !mutations.isEmpty { try check(quota, context.state, collection) }
      return mutations.map(CollectionMutation.map)
    }
  }

  /// Throws if the user may not have another suite.
  private static func check(
    _ quota: DefaultsQuota,
    _ state: UserState,
    _ suite: CollectionName
  ) throws(Refusal) {
    let suites = state.collections.lazy.filter { $0.key.module == "defaults" }
    let used = suites.filter { $0.value.count > 0 }.count
    if used >= quota.suites {
      throw .quotaExceeded("The user has \(used) suites with values, and may not have more.")
    }
    // The server still knows a suite that was emptied, so that all devices learn of the change.
    if state.collections[suite] == nil, suites.count >= quota.suites * emptiedSuites {
      throw .quotaExceeded(
        "The user has used \(suites.count) suites, and may not add another. Use one of the empty suites again."
      )
    }
  }

  /// The limit on all suites, emptied ones included, as a multiple of the limit on suites with
  /// values.
  private static let emptiedSuites = 16
}
