import LockstepCollections
import LockstepJSON
import LockstepReactor

extension UserModule {
  /// A module whose state is one list in a table of its own: see the other `list`, which this is but for the table.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - table: Where its elements are kept.
  ///   - quota: How much a user may have of it.
  ///   - actions: What clients can ask for.
  ///   - verbs: The types of the actions that `PUT`, `PATCH` and `DELETE` of an element stand for.
  ///   - reactor: Makes the reactor that decides on an action.
  /// - Returns: The module.
  public static func list<R: Reactor, Table: ListTable>(
    _ name: String,
    table: Table,
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    verbs: [ElementVerb: String] = [:],
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == ListState, R.Mutation == ListMutation {
    var module = list(
      name,
      of: Table.Element.self,
      quota: quota,
      actions: actions,
      verbs: verbs,
      reactor: reactor
    )
    module.storage = ListTableAdapter(module: name, table: table)
    return module
  }

  /// A module whose state is one map in a table of its own: see the other `map`, which this is but for the table.
  ///
  /// - Parameters:
  ///   - name: Its name.
  ///   - value: The JSON Schema of a value. Default: any.
  ///   - table: Where its values are kept.
  ///   - quota: How much a user may have of it.
  ///   - actions: What clients can ask for.
  ///   - verbs: The types of the actions that `PUT` and `DELETE` of a value stand for.
  ///   - reactor: Makes the reactor that decides on an action.
  /// - Returns: The module.
  public static func map<R: Reactor>(
    _ name: String,
    value: JSON = [:],
    table: any MapTable,
    quota: CollectionQuota = CollectionQuota(),
    actions: [ActionCase<R.Action>],
    verbs: [ElementVerb: String] = [:],
    reactor: @escaping @Sendable (ActionContext) -> R
  ) -> UserModule where R.State == MapState, R.Mutation == MapMutation {
    var module = map(name, value: value, quota: quota, actions: actions, verbs: verbs, reactor: reactor)
    module.storage = MapTableAdapter(module: name, table: table)
    return module
  }

  /// Where the store keeps it.
  package var table: any CollectionTable {
    if let table = storage as? any CollectionTable { return table }
    return switch kind {
    case .list: SharedListTable(module: name, canRead: canRead)
    case .map: MapTableAdapter(module: name, table: SharedMapTable(module: name))
    }
  }
}
