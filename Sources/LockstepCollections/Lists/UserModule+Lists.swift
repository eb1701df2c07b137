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
      return list(try ElementFormat<Module.Element>(Module.rules, of: Module.name), make)
    } catch {
      return unserved(Module.name, error)
    }
  }

  private static func list<Module: ListModule>(
    _ format: ElementFormat<Module.Element>,
    _ make: @escaping @Sendable (ActionContext) -> Module
  ) -> UserModule {
    let actions = Module.actions.cases(format)
    return list(
      Module.name,
      format,
      quota: Module.quota,
      cases: actions.listed,
      verbs: actions.verbs,
      record: { type, payload, _ in ["type": .string(type), "payload": Module.recorded(payload, of: type)] },
      decide: { action, list, context in
        let (decided, change) = try action.proposed(to: list, format, context)
        let mutations = try make(context).decide(decided, List(list, defaults: format.members.defaults))
        return try format.mutations(mutations, of: list, change, at: context.now)
      }
    )
  }

  /// A list with the standard actions, whose elements have this form.
  package static func list(_ name: String, _ form: PlainForm, quota: CollectionQuota) -> UserModule {
    var verbs = ListAction.verbs(StandardAction.allCases)
    // Not checked when it is read, so that a missing element gets 404 even if the body is invalid.
    verbs[.patch] = .unlisted(
      ActionCase("update", .name("id"), .unchecked(like: .patch(form))) { .update(id: $0, form.withoutReadOnly($1)) }
    )
    var module = list(
      name,
      form,
      quota: quota,
      cases: ListAction.cases(StandardAction.allCases, form),
      verbs: verbs,
      record: { _, _, action in action.record },
      decide: { action, list, context in
        let change = try action.change(of: list, form, context)
        return change.mutation(of: list, form.members, now: context.now).map { [.list($0)] } ?? []
      }
    )
    module.hasActionsRoute = false
    return module
  }

  /// A module with one list.
  static func list<Action>(
    _ name: String,
    _ form: any ElementForm,
    quota: CollectionQuota,
    cases: [ActionCase<Action>],
    verbs: [ElementVerb: VerbAction<Action>],
    record: @escaping @Sendable (_ type: String, _ payload: JSON, Action) -> JSON,
    reduce: @escaping @Sendable (inout ListState, ListMutation) -> Void = { $0.apply($1) },
    decide: @escaping @Sendable (Action, ListState, ActionContext) throws -> [CollectionMutation]
  ) -> UserModule {
    let collection = CollectionName(name)
    let element = form.schema
    var module = UserModule(
      name,
      shape: .list,
      reducer: .list(reduce),
      cases: cases,
      verbs: verbs,
      element: element,
      state: .listSchema(of: element)
    ) { type, payload, action in
      UserAction(collection: collection, record: record(type, payload, action).description) { context in
        try decide(action, context.state.list(collection), context)
      }
    }
    module.quota = quota
    module.canRead = { form.canRead($0) }
    module.defaults = form.members.defaults
    return module
  }

  /// A module whose elements have no form. A server reports the error when it starts.
  static func unserved(_ name: String, _ error: any Error) -> UserModule {
    var module = UserModule(
      name,
      shape: .list,
      reducer: .list { $0.apply($1) },
      cases: [ActionCase<ListAction>](),
      state: [:]
    ) { _, _, _ in UserAction(collection: CollectionName(name), record: "") { _ in [] } }
    module.mistake = (error as? ShapeError)?.phrase ?? "its elements have no schema: \(error)"
    return module
  }
}

extension TypedListAction {
  /// The module's action, and the change that a standard action asks for.
  fileprivate func proposed(
    to list: ListState,
    _ format: ElementFormat<Element>,
    _ context: ActionContext
  ) throws(Refusal) -> (Action, ListChange?) {
    switch self {
    case .own(let action): return (action, nil)
    case .standard(let action, let edit):
      let change = try action.change(of: list, format, context)
      return (edit(try format.mutation(change)), change)
    }
  }
}

extension ElementFormat {
  /// The mutations as the ledger takes them, without those that change nothing.
  fileprivate func mutations(
    _ mutations: [List<Element>.Mutation],
    of list: ListState,
    _ change: ListChange?,
    at now: Timestamp
  ) throws -> [CollectionMutation] {
    var list = list
    var encoded: [CollectionMutation] = []
    for (place, mutation) in mutations.enumerated() {
      // Later mutations find another list than the client's proposal did.
      let proposal = place == 0 ? change?.proposal : nil
      guard let mutation = try self.mutation(mutation, of: list, proposal, at: now) else { continue }
      try mutation.check(of: module)
      encoded.append(.list(mutation))
      if place < mutations.count - 1 { list.apply(mutation) }
    }
    return encoded
  }

  private func mutation(
    _ mutation: List<Element>.Mutation,
    of list: ListState,
    _ proposal: (object: JSONObject, old: JSONObject?)?,
    at now: Timestamp
  ) throws -> ListMutation? {
    switch mutation {
    case .insert(let element, let index):
      guard list[element.id] == nil else {
        throw ModuleError(module, "it inserts the element “\(element.id)”, which the list has")
      }
      return try encoded(element, old: nil, proposal: proposal?.object, now: now).map {
        .inserted(id: element.id, item: $0, index: min(max(index, 0), list.count))
      }
    case .replace(let element):
      let isProposed = proposal?.object["id"]?.stringValue?.hasSameBytes(as: element.id) == true
      guard let old = isProposed ? proposal?.old : list[element.id]?.object else {
        throw ModuleError(module, "it replaces the element “\(element.id)”, which the list does not have")
      }
      return try encoded(element, old: old, proposal: proposal?.object, now: now).map {
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
