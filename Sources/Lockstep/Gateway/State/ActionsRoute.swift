import HTTP
import JSON

/// `POST /v1/actions`: several changes as one.
struct ActionsRoute: Sendable {
  static let maximum = 500

  let modules: [String: UserModule]
  let writing: StateWriting

  init(modules: [UserModule], writing: StateWriting) {
    self.modules = Dictionary(uniqueKeysWithValues: modules.map { ($0.name, $0) })
    self.writing = writing
  }

  var route: Route {
    Route(.post, "/v1/actions", summary: "Several actions as one: all of them happen, or none.") { request in
      try writing.gate.answer(request) { session in
        let preconditions = try Preconditions(of: request.head)
        return try request.withBody { body in
          let key = try IdempotencyKey(of: request, body: body)
          _ = try BodyType(of: request.head)
          let actions = try actions(in: try JSON(body: body))
          let transaction = transaction(actions, preconditions, key, of: session)
          return try writing.commit(transaction, answer: answer(_:), weight: weight(_:)) { again in
            try await writing.keptAnswers.whole(again, toActions: actions.count, of: session.user)
          } refusedAs: {
            problem(for: $0)
          }
        }
      }
    }
  }

  // MARK: Reading

  private func actions(in body: JSON) throws(Problem) -> [UserAction] {
    var reader = PayloadReader(body)
    let list = reader.value("actions")?.arrayValue ?? []
    if body.objectValue != nil, !(1...Self.maximum).contains(list.count) {
      reader.add("actions", "It must be an array of 1 to \(Self.maximum) actions.")
    }
    try reader.finishProblem()
    var actions: [UserAction] = []
    var faults: [Problem.Fault] = []
    var firstFailed: Int?
    for (index, element) in list.enumerated() {
      do throws(Refusal) {
        actions.append(try action(element))
      } catch {
        firstFailed = firstFailed ?? index
        faults += Problem(error) { "/actions/\(index)\($0)" }.errors
      }
    }
    guard let firstFailed else { return actions }
    throw Problem(.validationFailed, errors: faults, members: [("failed", .integer(Int64(firstFailed)))])
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
    do throws(Refusal) {
      if let action = try module.read(type ?? "", payload ?? [:]) { return action }
    } catch {
      guard case .invalid(let faults) = error else { throw error }
      throw .invalid(faults.map { FieldFault(pointer: "/payload\($0.pointer)", detail: $0.detail) })
    }
    throw .invalid("/type", "The module \(module.name) has no action “\(type ?? "")”.")
  }

  // MARK: Committing

  private func transaction(
    _ actions: [UserAction],
    _ preconditions: Preconditions,
    _ key: IdempotencyKey?,
    of session: LiveSession
  ) -> Transaction {
    var transaction = Transaction(
      user: session.user,
      session: session,
      actions: actions,
      answer: { StoredAnswer(answer($0)) },
      refusal: { error in (problem(for: error) ?? error as? Problem).map { StoredAnswer($0.response) } }
    )
    transaction.key = key
    transaction.kept = { KeptAnswers.kept($0) }
    if !preconditions.isEmpty {
      transaction.condition = { view in
        let cursor = StateView(store: writing.store, view).cursor
        guard !preconditions.allowsWrite(to: cursor) else { return }
        var problem = Problem(.preconditionFailed, detail: "The user's state has changed since that cursor.")
        problem.members = [("current", ["cursor": .string(cursor.text)]), ("cursor", .string(cursor.text))]
        problem.fields.append(.cursor, cursor.text)
        throw problem
      }
    }
    return transaction
  }

  private func answer(_ committed: Committed) -> Response {
    let cursor = StateView(store: writing.store, committed.after).cursor
    let body = Self.body(cursor, committed.mutations.lazy.map { CollectionMutation.encoded($0) })
    var fields = HeaderFields()
    fields.append(.contentType, "application/json")
    fields.append(.cacheControl, "no-store")
    fields.append(.etag, "\"\(cursor.text)\"")
    fields.append(.cursor, cursor.text)
    return Response(status: .ok, fields: fields, body: .bytes(body))
  }

  /// The answer's body: the facts of each action, as JSON.
  static func body(_ cursor: Cursor, _ results: some Sequence<[UInt8]>) -> [UInt8] {
    var body = Array(#"{"cursor":"\#(cursor.text)","results":["#.utf8)
    for (index, mutations) in results.enumerated() {
      if index > 0 { body.append(UInt8(ascii: ",")) }
      body.append(contentsOf: #"{"mutations":"#.utf8)
      body.append(contentsOf: mutations)
      body.append(UInt8(ascii: "}"))
    }
    body.append(contentsOf: "]}".utf8)
    return body
  }

  private func weight(_ committed: Committed) -> Int {
    committed.mutations.reduce(0) { $0 + $1.reduce(0) { $0 + LongWork.Weight.element + $1.bytes } }
  }

  private func problem(for error: any Error) -> Problem? {
    guard let refused = error as? RefusedAction else { return nil }
    var problem = Problem(refused, store: writing.store) { "/actions/\(refused.index)/payload\($0)" }
    problem.members.append(("failed", .integer(Int64(refused.index))))
    return problem
  }
}
