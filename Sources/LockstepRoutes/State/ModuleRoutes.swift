import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// `/v1/<module>`: the routes of a module that the server was built with. They follow from the
/// module's declaration.
package struct ModuleRoutes: Sendable {
  let module: UserModule
  let reading: StateReader
  let writing: StateWriter

  package init(module: UserModule, reading: StateReader, writing: StateWriter) {
    self.module = module
    self.reading = reading
    self.writing = writing
  }

  private var collection: CollectionName { CollectionName(module.name) }
  private var path: String { "/v1/\(module.name)" }
  /// The payload's member for the last part of an element's address.
  private var key: String { module.kind == .list ? "id" : "key" }

  package var routes: [Route] {
    let describedAs = ModuleDescriptions(module: module, key: key)
    let verbs = ElementVerb.allCases.compactMap { verb in module.verbs[verb].map { route(verb, $0) } }
    return [
      Route(.get, path, summary: "What the user has in \(module.name).") { request in
        try reading.answer(request) { _, query throws(Problem) in try whole(query) }
      }
      .described(describedAs.whole),
      Route(.get, "\(path)/{\(key)}", summary: "One element of \(module.name).") { request in
        try reading.answer(request) { request, _ throws(Problem) in element(try request.elementName(key)) }
      }
      .described(describedAs.element),
      Route(
        .post,
        "\(path)/actions",
        summary: "Does one action of \(module.name) or several, all or none.",
        handler: act
      )
      .described(describedAs.actions),
    ] + verbs
  }

  // MARK: Resources

  private func whole(_ query: QueryParameters) throws(Problem) -> StateResource {
    switch module.kind {
    case .list: .list(try ListQuery(collection, query))
    case .map: .map(collection, prefix: try query.text("prefix"))
    }
  }

  private var whole: StateResource {
    switch module.kind {
    case .list: .list(ListQuery(collection))
    case .map: .map(collection, prefix: nil)
    }
  }

  private func element(_ name: String) -> StateResource {
    switch module.kind {
    case .list: .element(collection, id: name)
    case .map: .entry(collection, key: name)
    }
  }

  // MARK: Actions

  private func act(_ request: Request) throws -> HandlerResult {
    try writing.gate.answer(request) { session in
      let preconditions = try Preconditions(of: request.head)
      return try request.withBody { body in
        let idempotencyKey = try IdempotencyKey(of: request, body: body)
        _ = try BodyType(of: request.head)
        let json = try JSON(body: body)
        let isArray = json.arrayValue != nil
        let list = json.arrayValue ?? [json]
        guard (1...Transaction.maximumActions).contains(list.count) else {
          let detail = "It must be an action, or an array of 1 to \(Transaction.maximumActions) of them."
          throw Problem(.validationFailed, errors: [.init(pointer: "", detail: detail)])
        }
        let batch = ActionBatch(writing: writing, resource: whole) { isArray ? "/\($0)" : "" }
        return try batch.commit(try batch.read(list, action), preconditions, idempotencyKey, of: session)
      }
    }
  }

  private func action(_ element: JSON) throws(Refusal) -> UserAction {
    var reader = PayloadReader(element)
    let (type, payload) = (reader.text("type"), reader.value("payload"))
    try reader.finish()
    return try ActionBatch.action(type ?? "", payload, of: module)
  }

  // MARK: Verbs

  private func route(_ verb: ElementVerb, _ action: DeclaredVerb) -> Route {
    let pattern = "\(path)/{\(key)}"
    let summary = "Does the action \(action.type) of \(module.name)."
    return Route(verb.method, pattern, summary: summary) { request in
      try writing.answer(request) { request, body in
        let name = try request.elementName(key)
        var change = StateWriter.Change(
          resource: element(name),
          action: try self.action(action, on: name, by: verb, request, body),
          status: { committed in verb == .delete ? .noContent : status(of: name, committed) }
        )
        change.pointer = { pointer($0) }
        change.showsResource = verb != .delete
        return change
      }
    }
    .described(ModuleDescriptions(module: module, key: key).verb(verb, action))
  }

  private func action(
    _ action: DeclaredVerb,
    on name: String,
    by verb: ElementVerb,
    _ request: Request,
    _ body: [UInt8]
  ) throws -> UserAction {
    let payload = try payload(of: action, on: name, by: verb, request, body)
    do throws(Refusal) {
      guard let read = try module.read(action.type, payload) else { throw .notFound("There is no such action.") }
      return read
    } catch {
      throw Problem(error, pointer: pointer)
    }
  }

  private func payload(
    of action: DeclaredVerb,
    on name: String,
    by verb: ElementVerb,
    _ request: Request,
    _ body: [UInt8]
  ) throws -> JSON {
    guard verb != .delete else { return [key: .string(name)] }
    let type = try BodyType(of: request.head)
    guard type != .jsonPatch else {
      throw Problem(.unsupportedMediaType, detail: "A JSON patch isn't taken here; send the members that change.")
    }
    guard module.kind == .list else { return [key: .string(name), "value": try JSON(body: body)] }
    let json = body.isEmpty ? [:] : try JSON(body: body)
    guard var members = json.objectValue else { throw Problem.notAnObject(json) }
    var reader = PayloadReader(json)
    if reader.expectID(name) { throw Problem(.validationFailed, errors: reader.faults.map(Problem.Fault.init)) }
    members[key] = .string(name)
    members.removeAll { name, _ in action.passedOver.contains(name) }
    return .object(members)
  }

  /// Translates a pointer into the payload to a pointer into the body. For a map, the body is the
  /// payload's `value`.
  private func pointer(_ pointer: String) -> String {
    guard module.kind == .map, pointer.hasPrefix("/value") else { return pointer }
    return String(pointer.dropFirst("/value".count))
  }

  private func status(of name: String, _ committed: Committed) -> Status {
    let before = committed.before.state
    let isThere =
      module.kind == .list ? before.list(collection)[name] != nil : before.map(collection)[name] != nil
    return isThere ? .ok : .created
  }
}

extension ElementVerb {
  fileprivate var method: Method {
    switch self {
    case .put: .put
    case .patch: .patch
    case .delete: .delete
    }
  }
}

extension Problem.Fault {
  fileprivate init(_ fault: FieldFault) { self.init(pointer: fault.pointer, detail: fault.detail) }
}
