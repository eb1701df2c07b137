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
  ) -> UserModule where R.State == ListState, R.Mutation == ListMutation {
    var module = list(name, of: Table.Element.self, quota: quota, actions: actions, verbs: verbs, reactor: reactor)
    module.storage = ListTableAdapter(module: name, table: table)
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
