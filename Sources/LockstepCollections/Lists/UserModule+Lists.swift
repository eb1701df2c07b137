import LockstepJSON
import LockstepTime

extension UserModule {
  /// A module with a typed list, which decides without knowing more than the list.
  public static func list<Module: ListModule>(_ module: Module) -> UserModule {
    list(Module.self) { _ in module }
  }

  /// A module with a typed list. `make` gets the time of the transaction and the user's other
  /// collections:
  ///
  ///     .list(Shopping.self) { Shopping(now: $0.now) }
  ///
  /// The server provides these routes for the module:
  ///
  /// - `GET /v1/<name>` returns the list, a page of it, or the elements whose ids have a `prefix`.
  ///   The response can show a past state, or wait for a change.
  /// - `GET /v1/<name>/<id>` returns one element.
  /// - `PUT`, `PATCH` and `DELETE` of an element, and `PUT` of its position, if the module has the
  ///   standard actions.
  /// - `POST /v1/<name>/actions` and `POST /v1/actions` perform actions.
  ///
  /// The feed, the journal, the catalogue and exports also contain the module. Erasing a user
  /// erases the user's list.
  public static func list<Module: ListModule>(
    _ type: Module.Type,
    _ make: @escaping @Sendable (ActionContext) -> Module
  ) -> UserModule {
    do {
      return list(try ElementFormat<Module.Element>(Module.rules), make)
    } catch {
      // A server reports it when it starts.
      var module = UserModule(
        Module.name,
        shape: .list,
        reducer: .list { $0.apply($1) },
        cases: [ActionCase<Module.Action>](),
        state: [:]
      ) { _, _, _ in UserAction(collection: CollectionName(Module.name), record: "") { _ in [] } }
      module.mistake = (error as? ShapeError)?.phrase ?? "its elements have no schema: \(error)"
      return module
    }
  }

  private static func list<Module: ListModule>(
    _ format: ElementFormat<Module.Element>,
    _ make: @escaping @Sendable (ActionContext) -> Module
  ) -> UserModule {
    let name = Module.name
    let collection = CollectionName(name)
    let actions = Module.actions.cases(of: name, format)
    var module = UserModule(
      name,
      shape: .list,
      reducer: .list { $0.apply($1) },
      cases: actions.listed,
      verbs: actions.verbs,
      element: format.schema,
      state: .listSchema(of: format.schema)
    ) { type, payload, pending in
      let record: JSON = ["type": .string(type), "payload": Module.recorded(payload, of: type)]
      return UserAction(collection: collection, record: record.description) { context in
        let state = context.state.list(collection)
        let (action, proposal) = try pending.action(state, context)
        let mutations = try make(context).decide(action, List(state, defaults: format.defaults))
        return try format.mutations(mutations, of: state, proposal, at: context.now, in: name)
      }
    }
    module.quota = Module.quota
    module.canRead = { format.canRead($0) }
    module.defaults = format.defaults
    return module
  }
}

extension JSON {
  /// The schema of a list as clients get it.
  package static func listSchema(of element: JSON) -> JSON {
    .schema(ofObject: [
      SchemaMember(name: "cursor", schema: ["type": "string"]), SchemaMember(name: "count", schema: .indexSchema),
      SchemaMember(name: "items", schema: ["type": "array", "items": element]),
    ])
  }
}

extension ElementFormat {
  /// The mutations as the ledger takes them, without those that change nothing.
  func mutations(
    _ mutations: [List<Element>.Mutation],
    of list: ListState,
    _ proposal: ElementProposal?,
    at now: Timestamp,
    in module: String
  ) throws -> [CollectionMutation] {
    var list = list
    var encoded: [CollectionMutation] = []
    for (place, mutation) in mutations.enumerated() {
      // Later mutations find another list than the client's proposal did.
      let proposal = place == 0 ? proposal : nil
      guard let mutation = try self.mutation(mutation, of: list, proposal, at: now, in: module) else { continue }
      try mutation.check(of: module) { _ in true }
      encoded.append(.list(mutation))
      if place < mutations.count - 1 { list.apply(mutation) }
    }
    return encoded
  }

  private func mutation(
    _ mutation: List<Element>.Mutation,
    of list: ListState,
    _ proposal: ElementProposal?,
    at now: Timestamp,
    in module: String
  ) throws -> ListMutation? {
    switch mutation {
    case .insert(let element, let index):
      guard list[element.id] == nil else {
        throw ModuleError(module, "it inserts the element “\(element.id)”, which the list has")
      }
      return try encoded(element, old: nil, proposal: proposal?.object, now: now, of: module).map {
        .inserted(id: element.id, item: $0, index: min(max(index, 0), list.count))
      }
    case .replace(let element):
      let isProposed = proposal?.object["id"]?.stringValue?.hasSameBytes(as: element.id) == true
      guard let old = isProposed ? proposal?.old : list[element.id]?.object else {
        throw ModuleError(module, "it replaces the element “\(element.id)”, which the list does not have")
      }
      return try encoded(element, old: old, proposal: proposal?.object, now: now, of: module).map {
        .modified(id: element.id, item: $0)
      }
    case .remove(let id): return list[id] == nil ? nil : .removed(id: id)
    case .move(let id, let target):
      guard let index = list.index(of: id) else {
        throw ModuleError(module, "it moves the element “\(id)”, which the list does not have")
      }
      let target = min(max(target, 0), list.count - 1)
      return index == target ? nil : .moved(id: id, to: target)
    case .clear: return list.count == 0 ? nil : .cleared
    }
  }
}
