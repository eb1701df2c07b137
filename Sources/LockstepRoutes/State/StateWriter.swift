import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepSQLite
import LockstepStore
import LockstepSync
import LockstepThreading

/// The long half of the way: what a request wants changed, through the ledger, to the answer that tells that it's on disk.
///
/// An object, since each route and each answer to come holds it: a value would be copied for each, part by part.
package final class StateWriter: Sendable {
  /// A change of one resource.
  struct Change: Sendable {
    /// What it's a change of: its preconditions and its ETag are meant of this.
    let resource: StateResource
    let action: UserAction
    /// Where a fault of the payload is in the body that the client sent; nil leaves it where it is.
    var pointer: @Sendable (String) -> String = { $0 }
    /// The status of the answer.
    let status: @Sendable (Committed) -> Status
    /// Whether the answer shows the resource.
    var showsResource = true
  }

  let store: String
  let gate: StateAuthenticator
  let ledger: Ledger
  let keptAnswers: StoredResponses
  let backgroundEncoder: BackgroundEncoder

  package init(
    store: String,
    gate: StateAuthenticator,
    ledger: Ledger,
    keptAnswers: StoredResponses,
    backgroundEncoder: BackgroundEncoder
  ) {
    self.store = store
    self.gate = gate
    self.ledger = ledger
    self.keptAnswers = keptAnswers
    self.backgroundEncoder = backgroundEncoder
  }

  /// Answers a write of one resource.
  func answer(
    _ request: Request,
    change: @escaping @Sendable (Request, [UInt8]) throws -> Change
  ) throws -> HandlerResult {
    try gate.answer(request) { [self] session in
      let preconditions = try Preconditions(of: request.head)
      return try request.withBody { [self] body in
        let key = try IdempotencyKey(of: request, body: body)
        let change = try change(request, body)
        let answer = { @Sendable [store] (committed: Committed) in
          change.response(after: StateView(store: store, committed.after), change.status(committed))
        }
        let transaction = transaction(change, preconditions, key, of: session, answer: answer)
        return try commit(transaction, answer: answer) { [store] committed in
          change.showsResource ? change.resource.weight(in: StateView(store: store, committed.after)) : 0
        } whole: { [keptAnswers] again in
          try await keptAnswers.whole(again, to: change, preconditions, of: session.user)
        } refusedAs: { [store] in
          change.problem(for: $0, store: store)
        }
      }
    }
  }

  /// Has a transaction committed, and gives its answer when it's on disk.
  ///
  /// - Parameters:
  ///   - transaction: The transaction. It's on its way when this returns.
  ///   - answer: What the client is told when it's done.
  ///   - weight: How much work that is: see `BackgroundEncoder`.
  ///   - whole: Makes of what was kept of an earlier answer the answer as it was.
  ///   - problem: What the client is told of a refusal; nil for any other error.
  /// - Returns: The answer to come.
  /// - Throws: Why it can't be committed now.
  func commit(
    _ transaction: Transaction,
    answer: @escaping @Sendable (Committed) -> Response,
    weight: @escaping @Sendable (Committed) -> Int,
    whole: @escaping @Sendable (StoredResponse) async throws -> StoredResponse = { $0 },
    refusedAs problem: @escaping @Sendable (any Error) -> Problem?
  ) throws -> HandlerResult {
    let respond = { @Sendable [gate, backgroundEncoder] (result: PendingWrite.Result) throws -> HandlerResult in
      switch result {
      case .success(.done(let committed)):
        guard weight(committed) > BackgroundEncoder.bound else { return .response(answer(committed)) }
        // It's on disk: whatever comes between, that is what the client is told.
        return .async {
          .response(
            (try? await backgroundEncoder.run(for: transaction.user) { answer(committed) }) ?? answer(committed)
          )
        }
      case .success(.answered(let replay)) where replay.isReplay:
        return .async {
          do {
            return .response(Response(KeyedResponse(answer: try await whole(replay.answer), isReplay: true)))
          } catch {
            throw gate.addingCursor(to: problem(error) ?? error, of: transaction.user)
          }
        }
      case .success(.answered(let response)): return .response(Response(response))
      case .failure(let error): throw gate.addingCursor(to: problem(error) ?? error, of: transaction.user)
      }
    }
    let write = PendingWrite(respond: respond)
    do {
      try ledger.submit(transaction) { write.settle($0) }
    } catch {
      return try respond(.failure(error))
    }
    return .parked(write)
  }

  private func transaction(
    _ change: Change,
    _ preconditions: Preconditions,
    _ key: IdempotencyKey?,
    of session: LiveSession,
    answer: @escaping @Sendable (Committed) -> Response
  ) -> Transaction {
    let store = store
    var transaction = Transaction(
      user: session.user,
      session: session,
      actions: [change.action],
      answer: { StoredResponse(answer($0)) },
      refusal: { error in
        (change.problem(for: error, store: store) ?? error as? Problem).map { StoredResponse($0.response) }
      }
    )
    transaction.key = key
    transaction.kept = { StoredResponses.kept($0) }
    if !preconditions.isEmpty {
      transaction.condition = { try preconditions.check(change.resource, in: StateView(store: store, $0)) }
    }
    return transaction
  }
}

extension StateWriter.Change {
  /// The answer after it.
  func response(after view: StateView, _ status: Status) -> Response {
    // Whatever was just written can be represented; an action that removed the resource shows nothing.
    let representation = try? resource.representation(of: view)
    var fields: HeaderFields
    if showsResource, let representation {
      fields = representation.fields
    } else {
      fields = HeaderFields()
      fields.append(.cacheControl, "no-store")
    }
    fields.append(.cursor, view.cursorText)
    guard showsResource, let representation else { return Response(status: status, fields: fields) }
    return Response(status: status, fields: fields, body: .bytes(representation.body))
  }

  /// What the client is told of a refusal; nil for any other error.
  func problem(for error: any Error, store: String) -> Problem? {
    guard let refused = error as? ActionRefusal else { return nil }
    return Problem(refused, store: store, pointer: pointer)
  }
}

extension Preconditions {
  /// Throws `precondition-failed` where a resource isn't as the client wants it, with what it is.
  func check(_ resource: StateResource, in view: StateView) throws {
    let present = try? resource.representation(of: view)
    guard !allowsWrite(to: present?.cursor, isOwn: resource.isOwn(in: view)) else { return }
    var problem = Problem(.preconditionFailed)
    if let present {
      problem.members = [("current", JSON(trusting: present.body)), ("cursor", .string(present.cursor.text))]
      problem.fields.append(.etag, "\"\(present.cursor.text)\"")
    } else {
      problem.detail = "There is no such resource at present."
      problem.members = [("current", .null), ("cursor", .string(view.cursorText))]
    }
    problem.fields.append(.cursor, view.cursorText)
    throw problem
  }
}

extension Problem {
  /// What a client is told of an action that was refused, with the cursor of the state that it met.
  init(_ refused: ActionRefusal, store: String, pointer: (String) -> String) {
    self.init(refused.refusal, pointer: pointer)
    fields.append(.cursor, StateView(store: store, refused.view).cursor.text)
  }

  /// What a client is told of a refusal.
  init(_ refusal: Refusal, pointer: (String) -> String = { $0 }) {
    switch refusal {
    case .invalid(let faults):
      self.init(.validationFailed, errors: faults.map { Fault(pointer: pointer($0.pointer), detail: $0.detail) })
    case .notFound(let detail): self.init(.notFound, detail: detail)
    case .conflict(let detail): self.init(.conflict, detail: detail)
    case .quotaExceeded(let detail): self.init(.quotaExceeded, detail: detail)
    }
  }
}

extension IdempotencyKey {
  /// The text of a request's key; nil where it has none.
  static func text(of request: Request) throws(Problem) -> String? {
    guard let key = request.head[.idempotencyKey] else { return nil }
    guard (1...maximumBytes).contains(key.utf8.count) else {
      throw Problem(.invalidParameter, detail: "An Idempotency-Key has 1 to \(maximumBytes) bytes.")
    }
    return key
  }

  /// The key of a request; nil where it has none. `secret` is to be what nobody can guess where the body holds a password.
  package init?(of request: Request, body: [UInt8], secret: [UInt8] = []) throws(Problem) {
    guard let key = try Self.text(of: request) else { return nil }
    let target = request.head.query.isEmpty ? request.head.path : "\(request.head.path)?\(request.head.query)"
    // Only a patch tells one kind of JSON from another.
    let type = request.head.method == .patch ? try BodyType(of: request.head) : .json
    self.init(
      key,
      method: request.head.method.name,
      target: target,
      meaning: type == .json ? "" : type.rawValue,
      body: body,
      secret: secret
    )
  }
}

extension StoredResponse {
  /// An answer to be kept. One that is streamed has nothing to keep.
  init(_ response: Response) {
    let body: [UInt8]? = if case .bytes(let bytes) = response.body { bytes } else { nil }
    self.init(status: response.status.code, fields: response.fields.encoded, body: body)
  }
}

extension Response {
  /// The answer that a settlement tells.
  init(_ settlement: KeyedResponse) {
    let answer = settlement.answer
    var fields = HeaderFields(kept: answer.fields)
    if settlement.isReplay { fields.append(.idempotencyReplayed, "true") }
    self.init(
      status: Status(code: answer.status) ?? .ok,
      fields: fields,
      body: answer.body.map(Response.Body.bytes) ?? .none
    )
  }
}
