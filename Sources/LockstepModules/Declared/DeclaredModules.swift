import LockstepCollections
import LockstepJSON

extension UserModule {
  /// The module of a declared collection.
  package static func declared(_ declaration: DeclaredCollection) -> UserModule {
    var module: UserModule
    switch declaration.kind {
    case .list:
      let form = declaration.elementForm
      module = .list(declaration.name, form, quota: declaration.quota)
      // The form of its elements is always the same, and only the schema of their data changes.
      module.canRead = nil
      if declaration.schema != nil { module.writtenState = .listSchema(of: form.writtenSchema) }
    case .map: module = .values(declaration)
    }
    module.isReadOnly = declaration.access == .readOnly
    module.description = declaration.description
    return module
  }

  private static func values(_ declaration: DeclaredCollection) -> UserModule {
    let rules = declaration.valueRules
    var module = UserModule(
      declaration.name,
      shape: .map,
      reducer: .map(ValuesReactor.reduce),
      cases: SuiteAction.cases(rules, .noSuite),
      state: .mapSchema(of: .valueSchema)
    ) { _, _, action in declaration.action(action.action) }
    module.writtenState = .mapSchema(of: rules.schema)
    module.quota = declaration.quota
    module.hasActionsRoute = false
    return module
  }
}

extension DeclaredCollection {
  /// An action on a declared map.
  package func action(_ action: ValuesAction) -> UserAction {
    let (collection, rules) = (CollectionName(name), valueRules)
    return UserAction(collection: collection, record: action.record(suite: nil)) { context in
      try ValuesReactor(rules, context.budget).mutate(action, in: context.state.map(collection)).map(
        CollectionMutation.map
      )
    }
  }

  /// The action that removes all elements or values of a user.
  package var clearing: UserAction {
    let collection = CollectionName(name)
    switch kind {
    case .list:
      return UserAction(collection: collection, record: #"{"type":"clear","payload":{}}"#) { context in
        context.state.list(collection).count == 0 ? [] : [.list(.cleared)]
      }
    case .map: return action(.clear)
    }
  }

  /// The rules for the values of a map.
  package var valueRules: ValueRules { check.map(ValueRules.init) ?? .any }

  /// The form of the elements of a list.
  fileprivate var elementForm: PlainForm {
    PlainForm("element of \(name)", .titleAndData(upTo: ValueRules.maximumBytes), check: check)
  }

  private var check: ValueCheck? {
    schema.map { ValueCheck($0, description: InlinedSchema.json(of: $0.json)) }
  }
}
