import LockstepCollections
import LockstepJSON

extension UserModule {
  /// A module whose state is one list in a table of its own. The other parameters are those of
  /// `list(_:of:quota:actions:verbs:reactor:)`.
  public static func list<R: ModuleReactor, Table: ListTable>(
    _ name: String,
    table: Table,
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    verbs: [ElementVerb: VerbAction<R.Action>] = [:],
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == ListState, R.Mutation == ListMutation, Table.Element: ListElement {
    var module = list(name, of: Table.Element.self, quota: quota, actions: actions, verbs: verbs, reactor: reactor)
    module.storage = ListTableAdapter(
      module: name,
      table: table,
      encode: { $0.json.encoded() },
      decode: { Table.Element($0) }
    )
    return module
  }

  /// A module with a typed list in a table of its own.
  public static func list<Module: ListModule>(
    _ module: Module,
    table: some ListTable<Module.Element>
  ) -> UserModule {
    list(Module.self, table: table) { _ in module }
  }

  /// A module with a typed list in a table of its own. `make` gets the time of the transaction and
  /// the user's other collections.
  public static func list<Module: ListModule>(
    _ type: Module.Type,
    table: some ListTable<Module.Element>,
    _ make: @escaping @Sendable (ActionContext) -> Module
  ) -> UserModule {
    var module = list(type, make)
    let defaults = module.defaults
    module.storage = ListTableAdapter(
      module: Module.name,
      table: table,
      encode: { try JSON(encoding: $0).encoded() },
      decode: { try? JSON.object($0).decoded(as: Module.Element.self, withDefaults: defaults) }
    )
    return module
  }

  /// A module whose state is one map in a table of its own. The other parameters are those of
  /// `map(_:value:quota:actions:verbs:reactor:)`.
  public static func map<R: ModuleReactor>(
    _ name: String,
    value: JSON = [:],
    table: any MapTable,
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    verbs: [ElementVerb: VerbAction<R.Action>] = [:],
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == MapState, R.Mutation == MapMutation {
    var module = map(name, value: value, quota: quota, actions: actions, verbs: verbs, reactor: reactor)
    module.storage = MapTableAdapter(module: name, table: table)
    return module
  }

  package var table: any CollectionTable {
    if let table = storage as? any CollectionTable { return table }
    let shared: TableLayout = kind == .list ? .sharedList : .sharedMap
    return LayoutTable(of: self, storage as? TableLayout ?? shared)
  }
}
