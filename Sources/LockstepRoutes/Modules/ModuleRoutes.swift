import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepSync

/// `/v1/<module>`: the routes that follow from the declaration of a module.
// A class, because each route and each pending response holds it.
package final class ModuleRoutes: Sendable {
  let module: UserModule
  let reading: StateReader
  let writing: StateWriter

  package init(module: UserModule, reading: StateReader, writing: StateWriter) {
    self.module = module
    collection = CollectionName(module.name)
    members = module.elementMembers
    self.reading = reading
    self.writing = writing
  }

  private let collection: CollectionName
  /// The members of a list's elements; nil if they can have any.
  private let members: [String]?
  private var path: String { "/v1/\(module.name)" }
  private var elementPath: String { "\(path)/{\(module.keyName)}" }
  private var described: ModuleDescriptions { ModuleDescriptions(module: module) }

  package var routes: [Route] {
    let whole = Route(.get, path, summary: described.summaries.whole) { [self] request in
      try reading.respond(to: request) { [self] _, query throws(Problem) in try resource(query) }
    }
    .described(self.described.whole)
    if case .object = module.shape { return [whole] + verbRoutes + actionsRoute }
    let element = Route(.get, elementPath, summary: described.summaries.element) { [self] request in
      try reading.respond(to: request) { [self] request, _ throws(Problem) in
        resource(of: try request.elementName(module.keyName))
      }
    }
    .described(self.described.element)
    return [whole, element] + actionsRoute + verbRoutes
  }

  // MARK: Resources

  private func resource(_ query: QueryParameters) throws(Problem) -> StateResource {
    switch module.shape {
    case .list: .list(try ListQuery(collection, query, members: members))
    case .map: .map(collection, prefix: try query.text("prefix"))
    case .object(let members): .object(collection, members: members)
    }
  }

  private var whole: StateResource {
    switch module.shape {
    case .list: .list(ListQuery(collection))
    case .map: .map(collection, prefix: nil)
    case .object(let members): .object(collection, members: members)
    }
  }

  private func resource(of name: String) -> StateResource {
    switch module.shape {
    case .list: .element(collection, id: name)
    case .map: .entry(collection, key: name)
    case .object: whole
    }
  }

  // MARK: Actions

  private var actionsRoute: [Route] {
    guard module.hasActionsRoute else { return [] }
    let summary = "Performs one action of \(module.name), or several: all or none."
    return [Route(.post, "\(path)/actions", summary: summary, handler: act).described(self.described.actions)]
  }

  private func act(_ request: Request) throws -> HandlerResult {
    try writing.gate.respond(to: request) { [self] session in
      let batch = ActionBatch(writing: writing, resource: whole) { _ in "" }
      return try batch.respond(to: request, of: session) { [self] json, budget in
        let isArray = json.arrayValue != nil
        let list = json.arrayValue ?? [json]
        guard (1...Transaction.maximumActions).contains(list.count) else {
          let detail = "It must be an action, or an array of 1 to \(Transaction.maximumActions) actions."
          throw Problem(.validationFailed, errors: [.init(pointer: "", detail: detail)])
        }
        return try ActionBatch(writing: writing, resource: whole) { isArray ? "/\($0)" : "" }.read(list, budget, action)
      }
    }
  }

  private func action(_ element: JSON, _ budget: WorkBudget) throws(Refusal) -> BatchedAction {
    var reader = PayloadReader(element)
    return try BatchedAction(BatchedAction.Text(&reader), of: module, &reader, budget)
  }

  // MARK: Verbs

  private var verbRoutes: [Route] {
    ElementVerb.allCases.compactMap { verb in
      guard let action = module.verbs[verb] else { return nil }
      // One route serves both kinds of patches.
      if verb == .jsonPatch, module.verbs[.patch] != nil { return nil }
      return route(verb, action)
    }
  }

  private func route(_ verb: ElementVerb, _ action: DeclaredVerb) -> Route {
    let isObject = module.shape != .list && module.shape != .map
    let pattern = isObject ? path : verb == .move ? "\(elementPath)/position" : elementPath
    return Route(verb.method, pattern, summary: described.summaries.verb(verb, action)) { [self] request in
      try writing.respond(to: request) { [self] request, body, budget in
        let name = isObject ? nil : try request.elementName(module.keyName)
        return StateWriter.Change(
          resource: name.map(resource(of:)) ?? whole,
          action: try self.action(verb, action, on: name, request, body, budget),
          pointer: { [self] in pointer($0, verb) },
          showsResource: verb != .delete
        ) { [self] committed in
          status(after: verb, of: name, committed)
        }
      }
    }
    .described(self.described.verb(verb, action))
  }

  /// The action that a request asks for. Throws all faults of its body.
  private func action(
    _ verb: ElementVerb,
    _ action: DeclaredVerb,
    on name: String?,
    _ request: Request,
    _ body: [UInt8],
    _ budget: WorkBudget
  ) throws -> UserAction {
    guard verb != .delete else { return try read(verb, action, keyed([:], name), budget) }
    let type = try BodyType(of: request.head)
    // If an element needs only its id, the body of a `PUT` to a list may be empty.
    let json = verb == .put && module.kind == .list && body.isEmpty ? [:] : try JSON(body: body)
    if verb == .patch || verb == .jsonPatch, type == .jsonPatch, name != nil {
      guard let patch = module.verbs[.jsonPatch] else {
        throw Problem(.unsupportedMediaType, detail: "JSON patch is not supported here. Send the members that change.")
      }
      return try read(.jsonPatch, patch, keyed(["operations": json], name), budget)
    }
    guard verb != .jsonPatch else {
      throw Problem(.unsupportedMediaType, detail: "Send a JSON patch with Content-Type: application/json-patch+json.")
    }
    if module.shape == .map { return try read(verb, action, keyed(["value": json], name), budget) }
    guard var members = json.objectValue else { throw Problem.notAnObject(json) }
    let mismatch = name.flatMap { fault(of: members[module.keyName], in: verb, for: $0) }
    if name != nil { for member in action.ignored { members.removeValue(named: member) } }
    return try read(verb, action, keyed(members, name), budget, mismatch: mismatch)
  }

  private func keyed(_ members: consuming JSONObject, _ name: String?) -> JSON {
    if let name { members.updateValue(.string(name), named: module.keyName) }
    return .object(members)
  }

  /// The fault of an id in a body. `.move` allows none. Other verbs allow only the id in the path.
  private func fault(of said: JSON?, in verb: ElementVerb, for name: String) -> FieldFault? {
    guard let said else { return nil }
    let pointer = "/\(module.keyName)"
    if verb == .move { return FieldFault(pointer: pointer, detail: PayloadReader.unknown) }
    guard said.stringValue?.exact != name.exact else { return nil }
    return FieldFault(pointer: pointer, detail: "It must be the \(module.keyName) in the path, or be left out.")
  }

  private func read(
    _ verb: ElementVerb,
    _ action: DeclaredVerb,
    _ payload: JSON,
    _ budget: WorkBudget,
    mismatch: FieldFault? = nil
  ) throws -> UserAction {
    do throws(Refusal) {
      guard let mismatch else {
        var read = try action.read(payload, budget)
        read.version = module.version
        return read
      }
      // The request is refused for the mismatch in any case. The module's action is also read, but
      // only to collect the other faults of the payload.
      _ = try module.read(action.type, payload, budget: budget)
      throw .invalid([mismatch])
    } catch {
      var refusal = error
      if let mismatch, case .invalid(let faults) = error, faults != [mismatch] {
        let unknown = faults.filter { $0.detail == PayloadReader.unknown }
        refusal = .invalid(faults.filter { $0.detail != PayloadReader.unknown } + [mismatch] + unknown)
      }
      throw Problem(refusal) { pointer($0, verb, ofPayload: true) }
    }
  }

  /// The pointer to a fault, relative to the body. If the body is only one member of the payload
  /// (`value` of a map, `operations` of a patch), the pointer is without that member's name.
  private func pointer(_ pointer: String, _ verb: ElementVerb, ofPayload: Bool = false) -> String {
    let whole = module.shape == .map ? "/value" : verb == .jsonPatch && ofPayload ? "/operations" : ""
    guard !whole.isEmpty, pointer.hasPrefix(whole) else { return pointer }
    return String(pointer.dropFirst(whole.count))
  }

  private func status(after verb: ElementVerb, of name: String?, _ committed: Committed) -> Status {
    guard verb != .delete else { return .noContent }
    guard let name else { return .ok }
    let before = committed.before.state
    let isThere =
      module.kind == .list ? before.list(collection)[name] != nil : before.map(collection)[name] != nil
    return isThere ? .ok : .created
  }
}

extension UserModule {
  /// The names of the members that a list's elements can have. Nil if the module does not declare
  /// them.
  var elementMembers: [String]? {
    let element = state["properties"]?["items"]?["items"]
    if let others = element?["additionalProperties"], others != false { return nil }
    return element?["properties"]?.objectValue?.names
  }
}

extension ElementVerb {
  fileprivate var method: Method {
    switch self {
    case .put, .move: .put
    case .patch, .jsonPatch: .patch
    case .delete: .delete
    }
  }
}

extension Request {
  /// An id or a key in the path. Throws `invalid-parameter` if it is not valid.
  func elementName(_ parameter: String) throws(Problem) -> String {
    let name = parameters[parameter] ?? ""
    if let wrong = ElementName.fault(of: name) {
      throw Problem(.invalidParameter, detail: "The \(parameter) in the path is not valid. \(wrong)")
    }
    return name
  }
}

extension PayloadReader {
  package func finishProblem() throws(Problem) {
    do throws(Refusal) { try finish() } catch { throw Problem(error) }
  }
}

extension Problem {
  /// The problem of a body that is not an object but must be one.
  package static func notAnObject(_ json: JSON) -> Problem {
    Problem(
      .validationFailed,
      errors: [.init(pointer: "", detail: "It must be an object, and is \(json.typeName).")]
    )
  }
}
