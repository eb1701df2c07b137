import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI
import LockstepStore
import LockstepSync

/// `POST /v1/actions`: several actions of any modules as one transaction.
package struct ActionsRoute: Sendable {
  let modules: Modules
  let batch: ActionBatch

  package init(modules: Modules, writing: StateWriter) {
    self.modules = modules
    batch = ActionBatch(writing: writing, resource: nil) { "/actions/\($0)" }
  }

  package var route: Route {
    Route(.post, "/v1/actions", summary: "Performs several actions as one transaction.") { request in
      try batch.writing.gate.respond(to: request) { session in
        try batch.respond(to: request, of: session) { try actions(in: $0, $1) }
      }
    }
    .described(description)
  }

  private var description: RouteDescription {
    let described = modules.current.all.sorted { $0.name < $1.name }.map { DescribedModule(module: $0) }
    let actions: JSON = [
      "type": "array", "items": .reference("Action"), "minItems": 1, "maxItems": JSON(Transaction.maximumActions),
    ]
    var schemas = SharedSchema.actionResults
    // Without a discriminator: pydantic warns whenever it encodes a union of unions that has one.
    schemas["Action"] = ["oneOf": .array(described.map(\.action))]
    for module in described { schemas.merge(module.actions) { first, _ in first } }
    return .writing(
      "act",
      part: "Actions",
      parameters: [.dryRun],
      body: RouteBody(.closedSchema(of: [SchemaMember(name: "actions", schema: actions)])),
      responses: [.results],
      problems: [.notFound],
      schemas: schemas
    )
  }

  private func actions(in body: JSON, _ budget: WorkBudget) throws(Problem) -> ActionBatch {
    var reader = PayloadReader(body)
    let list = reader.value("actions")?.arrayValue ?? []
    if body.objectValue != nil, !(1...Transaction.maximumActions).contains(list.count) {
      reader.add("actions", "It must be an array of 1 to \(Transaction.maximumActions) actions.")
    }
    try reader.finishProblem()
    return try batch.read(list, budget, action)
  }

  private func action(_ element: JSON, _ budget: WorkBudget) throws(Refusal) -> BatchedAction {
    var reader = PayloadReader(element)
    let name = reader.text("module")
    let module = name.flatMap { modules[$0] }
    if let name, module == nil {
      reader.add("module", "There is no module “\(name)”, only \(modules.current.listing).")
    }
    let text = BatchedAction.Text(&reader)
    guard let module else { throw reader.refusal }
    return try BatchedAction(text, of: module, &reader, budget)
  }
}

/// An action of a batch, with the tag that its resource must have, if there is one.
struct BatchedAction {
  let action: UserAction
  let resource: StateResource
  let ifMatch: String?

  /// An action as clients send it.
  struct Text {
    let type: String?
    let payload: JSON
    let ifMatch: String?

    init(_ reader: inout PayloadReader) {
      type = reader.text("type")
      payload = reader.value("payload") ?? [:]
      let tag = reader.value("ifMatch")
      ifMatch = tag?.stringValue.flatMap { Cursor($0) == nil ? nil : $0 }
      if tag != nil, ifMatch == nil { reader.add("ifMatch", "It must be a cursor from a response.") }
    }
  }

  /// Throws all faults of an action of a module: those that `reader` has found, and those of the payload.
  init(
    _ text: Text,
    of module: UserModule,
    _ reader: inout PayloadReader,
    _ budget: WorkBudget
  ) throws(Refusal) {
    var known: UserAction?
    if let type = text.type {
      do throws(Refusal) {
        known = try module.read(type, text.payload, budget: budget)
        if known == nil { reader.add("type", "The module \(module.name) has no action “\(type)”.") }
      } catch {
        try reader.add(error, under: "/payload")
      }
    }
    try reader.finish()
    guard var known else { throw reader.refusal }
    known.version = module.version
    action = known
    resource = module.resource(of: known, named: text.payload[module.keyName]?.stringValue)
    ifMatch = text.ifMatch
  }
}

extension UserModule {
  /// The resource that an action is about: the element with this name, otherwise the collection.
  func resource(of action: UserAction, named name: String?) -> StateResource {
    let collection = action.collection
    if self.name == "defaults", let suite = collection.part {
      return name.map { .value(suite: suite, key: $0) } ?? .suite(suite, prefix: nil)
    }
    return switch shape {
    case .list: name.map { .element(collection, id: $0) } ?? .list(ListQuery(collection))
    case .map: name.map { .entry(collection, key: $0) } ?? .map(collection, prefix: nil)
    case .object(let members): .object(collection, members: members)
    }
  }
}

/// Reads several actions, commits them as one transaction, and makes the response.
struct ActionBatch: StateWrite {
  let writing: StateWriter
  let resource: StateResource?
  private(set) var actions: [UserAction] = []
  private(set) var conditions: [WriteCondition] = []
  /// Returns the JSON Pointer to the action with this index in the body.
  let place: @Sendable (Int) -> String

  // MARK: Reading

  /// Reads all actions. If there are faults, throws a problem with them and with the index of the
  /// first action that has one. Stops when the problem can list no more faults, or when the budget is
  /// exhausted. Then the result, or the problem, means nothing.
  func read(
    _ list: [JSON],
    _ budget: WorkBudget,
    _ read: (JSON, WorkBudget) throws(Refusal) -> BatchedAction
  ) throws(Problem) -> ActionBatch {
    var batch = self
    var faults: [Problem.Fault] = []
    var firstFailed: Int?
    for (index, element) in list.enumerated() where !budget.isExhausted {
      do throws(Refusal) {
        let read = try read(element, budget)
        batch.actions.append(read.action)
        if let tag = read.ifMatch {
          let preconditions = Preconditions(ifMatch: tag)
          let condition = WriteCondition(action: index, resource: read.resource, preconditions: preconditions)
          batch.conditions.append(condition)
        }
      } catch {
        firstFailed = firstFailed ?? index
        faults += Problem(error) { "\(place(index))\($0)" }.errors
        if faults.count >= Problem.mostErrors { break }
      }
    }
    guard let firstFailed else { return batch }
    throw Problem(.validationFailed, errors: faults, members: [("failed", .integer(Int64(firstFailed)))])
  }

  // MARK: Committing

  /// Responds to a request with actions. `read` reads them from the body.
  func respond(
    to request: Request,
    of session: LiveSession,
    _ read: @escaping @Sendable (JSON, WorkBudget) throws -> ActionBatch
  ) throws -> HandlerResult {
    let preconditions = try Preconditions(of: request.head)
    let isDryRun = try request.query.flag("dryRun")
    return try request.withBody { body in
      try writing.read(request, body, of: session) { budget in
        try read(JSON(readingBodyOf: request, body), budget)
      } then: { [writing] batch, key, resources in
        let network = request.network(of: session)
        if isDryRun { return writing.preview(batch, preconditions, network, of: session, resources) }
        return try writing.commit(batch, preconditions, key, network, of: session, resources)
      }
    }
  }

  func response(to committed: Committed, in view: StateView) -> Response {
    let whole = resource?.wholeCollection
    let cursor = whole.map { view.cursor(view.state.collections[$0]?.revision ?? .none) } ?? view.cursor
    let body = Self.body(cursor.text, committed.mutations.lazy.map { CollectionMutation.encoded($0) })
    var fields = HeaderFields()
    fields.append(.contentType, "application/json")
    fields.append(.cacheControl, "no-store")
    fields.append(.etag, "\"\(cursor.text)\"")
    fields.append(view.position)
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
