import LockstepCollections
import LockstepJSON
import LockstepSchema

extension UserModule {
  /// The module of a declared collection.
  package static func declared(_ declaration: DeclaredCollection) -> UserModule {
    var module: UserModule
    switch declaration.kind {
    case .list:
      module = .ordered(declaration.name, declaration.elementRules, quota: declaration.quota)
      // The form of its elements is always the same, and only the schema of their data changes.
      module.canRead = nil
      if declaration.schema != nil {
        module.writtenState = .listSchema(of: OrderedElement.schema(declaration.elementRules))
      }
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
      cases: ValuesAction.cases(rules),
      state: state(of: .valueSchema)
    ) { _, _, action in declaration.action(action) }
    module.writtenState = state(of: rules.schema)
    module.quota = declaration.quota
    module.hasActionsRoute = false
    return module
  }

  /// The schema of a map whose values have this schema.
  private static func state(of values: JSON) -> JSON {
    .schema(ofObject: [
      SchemaMember(name: "cursor", schema: ["type": "string"]), SchemaMember(name: "count", schema: .indexSchema),
      SchemaMember(name: "values", schema: ["type": "object", "additionalProperties": values]),
    ])
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
  package var valueRules: ValueRules {
    ValueRules(schema: schema.map { InlinedSchema.json(of: $0.json) } ?? .valueSchema, faults: faults)
  }

  /// The longest data of an element, in bytes as JSON.
  private static var dataBytes: Int { ValueRules.maximumBytes }

  fileprivate var elementRules: ElementRules {
    ElementRules(
      noun: "element of \(name)",
      dataBytes: Self.dataBytes,
      schema: schema.map { InlinedSchema.json(of: $0.json) } ?? [:],
      faults: faults
    )
  }

  private var faults: (@Sendable (JSON, WorkBudget?) -> [FieldFault])? {
    guard let schema else { return nil }
    return { value, budget in
      (budget?.faults(of: value, by: schema) ?? schema.faults(of: value))
        .map { FieldFault(pointer: $0.pointer, detail: $0.detail) }
    }
  }
}
