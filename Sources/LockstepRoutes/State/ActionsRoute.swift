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
    Route(.post, "/v1/actions", summary: "Several actions as one: all of them happen, or none.") { request in
      try batch.writing.gate.answer(request) { session in
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
      answers: [.results],
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
