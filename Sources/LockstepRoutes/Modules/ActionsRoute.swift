import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// `POST /v1/actions`: several actions of any modules as one transaction.
package struct ActionsRoute: Sendable {
  let modules: [String: UserModule]
  let batch: ActionBatch

  package init(modules: [UserModule], writing: StateWriter) {
    self.modules = Dictionary(uniqueKeysWithValues: modules.map { ($0.name, $0) })
    batch = ActionBatch(writing: writing, resource: nil) { "/actions/\($0)" }
  }

  package var route: Route {
    Route(.post, "/v1/actions", summary: "Performs several actions as one transaction.") { request in
      try batch.writing.gate.respond(to: request) { session in
        let preconditions = try Preconditions(of: request.head)
        return try request.withBody { body in
          let key = try IdempotencyKey(of: request, body: body)
          _ = try BodyType(of: request.head)
          return try batch.commit(try actions(in: try JSON(body: body)), preconditions, key, of: session)
        }
      }
    }
    .described(description)
  }

  private var description: RouteDescription {
    let all = modules.values.sorted { $0.name < $1.name }.flatMap { DescribedModule(module: $0).namedActions }
    let actions: JSON = [
      "type": "array", "items": ["oneOf": .array(all)], "minItems": 1, "maxItems": JSON(Transaction.maximumActions),
    ]
    return .writing(
      "act",
      part: "Actions",
      body: RouteBody(.closedSchema(of: [SchemaMember(name: "actions", schema: actions)])),
      responses: [.results],
      problems: [.notFound],
      schemas: .shared(SharedSchema.mutation, SharedSchema.results)
    )
  }

  private func actions(in body: JSON) throws(Problem) -> [UserAction] {
    var reader = PayloadReader(body)
    let list = reader.value("actions")?.arrayValue ?? []
    if body.objectValue != nil, !(1...Transaction.maximumActions).contains(list.count) {
      reader.add("actions", "It must be an array of 1 to \(Transaction.maximumActions) actions.")
    }
    try reader.finishProblem()
    return try batch.read(list, action)
  }

  private func action(_ element: JSON) throws(Refusal) -> UserAction {
    var reader = PayloadReader(element)
    let (name, type, payload) = (reader.text("module"), reader.text("type"), reader.value("payload"))
    try reader.finish()
    guard let module = modules[name ?? ""] else {
      throw .invalid(
        "/module",
        "There is no module “\(name ?? "")”, only \(modules.keys.sorted().joined(separator: ", "))."
      )
    }
    return try ActionBatch.action(type ?? "", payload, of: module)
  }
}

/// Reads several actions, commits them as one transaction, and makes the response.
struct ActionBatch: StateWrite {
  let writing: StateWriter
  let resource: StateResource?
  var actions: [UserAction] = []
  /// Returns the JSON Pointer to the action with this index in the body.
  let place: @Sendable (Int) -> String

  // MARK: Reading

  /// Reads all actions. If there are faults, throws a problem with all of them and with the index
  /// of the first action that has one.
  func read(_ list: [JSON], _ read: (JSON) throws(Refusal) -> UserAction) throws(Problem) -> [UserAction] {
    var actions: [UserAction] = []
    var faults: [Problem.Fault] = []
    var firstFailed: Int?
    for (index, element) in list.enumerated() {
      do throws(Refusal) {
        actions.append(try read(element))
      } catch {
        firstFailed = firstFailed ?? index
        faults += Problem(error) { "\(place(index))\($0)" }.errors
      }
    }
    guard let firstFailed else { return actions }
    throw Problem(.validationFailed, errors: faults, members: [("failed", .integer(Int64(firstFailed)))])
  }

  /// Reads an action of a module. Throws its faults, with pointers into `{"type", "payload"}`.
  static func action(_ type: String, _ payload: JSON?, of module: UserModule) throws(Refusal) -> UserAction {
    do throws(Refusal) {
      if let action = try module.read(type, payload ?? [:]) { return action }
    } catch {
      throw error.moved(under: "/payload")
    }
    throw .invalid("/type", "The module \(module.name) has no action “\(type)”.")
  }

  // MARK: Committing

  func commit(
    _ actions: [UserAction],
    _ preconditions: Preconditions,
    _ key: IdempotencyKey?,
    of session: LiveSession
  ) throws -> HandlerResult {
    var batch = self
    batch.actions = actions
    return try writing.commit(batch, preconditions, key, of: session)
  }

  func response(to committed: Committed, in view: StateView) -> Response {
    let whole = resource?.wholeCollection
    let cursor = whole.map { view.cursor(view.state.collections[$0]?.revision ?? .none) } ?? view.cursor
    let body = Self.body(cursor.text, committed.mutations.lazy.map { CollectionMutation.encoded($0) })
    var fields = HeaderFields()
    fields.append(.contentType, "application/json")
    fields.append(.cacheControl, "no-store")
    fields.append(.etag, "\"\(cursor.text)\"")
    fields.append(.cursor, view.cursor.text)
    return Response(status: .ok, fields: fields, body: .bytes(body))
  }

  var again: (@Sendable (Status, StateView) -> Response?)? { nil }

  /// The body of the response: the mutations of each action, as JSON.
  static func body(_ cursor: String, _ results: some Sequence<[UInt8]>) -> [UInt8] {
    var body = Array(#"{"cursor":"\#(cursor)","results":["#.utf8)
    for (index, mutations) in results.enumerated() {
      if index > 0 { body.append(UInt8(ascii: ",")) }
      body.append(contentsOf: #"{"mutations":"#.utf8)
      body.append(contentsOf: mutations)
      body.append(UInt8(ascii: "}"))
    }
    body.append(contentsOf: "]}".utf8)
    return body
  }

  func weight(of committed: Committed, in view: StateView) -> Int {
    committed.mutations.reduce(0) { $0 + $1.reduce(0) { $0 + BackgroundEncoder.Weight.mutation + $1.bytes } }
  }

  func problem(for refused: ActionRefusal, store: String) -> Problem {
    var problem = Problem(refused, store: store) { "\(place(refused.index))/payload\($0)" }
    problem.members.append(("failed", .integer(Int64(refused.index))))
    return problem
  }
}
