import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepSQLite
import LockstepStore
import LockstepSync
import LockstepThreading

/// Turns a write request into a transaction and its response.
///
/// This is a class because each route and each pending response holds it. A struct would be copied
/// for each of them.
package final class StateWriter: Sendable {
  /// A change of one resource.
  // A class, because several closures hold it.
  final class Change: Sendable {
    /// The resource of the preconditions and the ETag.
    let resource: StateResource
    let action: UserAction
    /// Translates a pointer into the payload to a pointer into the client's body.
    let pointer: @Sendable (String) -> String
    /// Whether the response shows the resource.
    let showsResource: Bool
    /// The status of the response.
    let status: @Sendable (Committed) -> Status

    init(
      resource: StateResource,
      action: UserAction,
      pointer: @escaping @Sendable (String) -> String = { $0 },
      showsResource: Bool = true,
      status: @escaping @Sendable (Committed) -> Status
    ) {
      self.resource = resource
      self.action = action
      self.pointer = pointer
      self.showsResource = showsResource
      self.status = status
    }
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

  /// Responds to a write of one resource.
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

  /// Commits a transaction, and responds when it is on disk.
  ///
  /// - Parameters:
  ///   - transaction: The transaction. Without an idempotency key, it is in the writer's queue when
  ///     this function returns.
  ///   - answer: Makes the response once the transaction is committed.
  ///   - weight: The cost of making the response: see `BackgroundEncoder`.
  ///   - whole: Rebuilds the full response from what was stored of an earlier response.
  ///   - problem: Makes a problem of a refusal. Returns `nil` for any other error.
  /// - Returns: The parked write, or a task that makes the response.
  /// - Throws: An error that prevents the commit now, such as a full queue.
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
        // The transaction is on disk. If the encoder fails, the response is made here.
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
    let check = { @Sendable (view: LedgerView) throws in
      try preconditions.check(change.resource, in: StateView(store: store, view))
    }
    return Transaction(
      user: session.user,
      session: session,
      actions: [change.action],
      condition: preconditions.isEmpty ? nil : check,
      key: key,
      answer: { StoredResponse(answer($0)) },
      refusal: { error in
        (change.problem(for: error, store: store) ?? error as? Problem).map { StoredResponse($0.response) }
      },
      kept: { StoredResponses.kept($0) }
    )
  }
}

extension StateWriter.Change {
  /// The response after the change.
  func response(after view: StateView, _ status: Status) -> Response {
    // A resource that was just written can be encoded. An action that removed it shows nothing.
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

  /// The problem for a refusal, or `nil` for any other error.
  func problem(for error: any Error, store: String) -> Problem? {
    guard let refused = error as? ActionRefusal else { return nil }
    return Problem(refused, store: store, pointer: pointer)
  }
}

extension Preconditions {
  /// Throws `precondition-failed` if a resource does not meet the preconditions. The problem shows
  /// the resource as it is now.
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
  /// The problem for a refused action, with the cursor of the state that refused it.
  init(_ refused: ActionRefusal, store: String, pointer: (String) -> String) {
    self.init(refused.refusal, pointer: pointer)
    fields.append(.cursor, StateView(store: store, refused.view).cursor.text)
  }

  /// The problem for a refusal.
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
  /// The text of a request's idempotency key, or `nil` if the request has none.
  static func text(of request: Request) throws(Problem) -> String? {
    guard let key = request.head[.idempotencyKey] else { return nil }
    guard (1...maximumBytes).contains(key.utf8.count) else {
      throw Problem(.invalidParameter, detail: "An Idempotency-Key has 1 to \(maximumBytes) bytes.")
    }
    return key
  }

  /// The idempotency key of a request, or `nil` if the request has none. If the body holds a
  /// password, pass a `secret` that cannot be guessed.
  package init?(of request: Request, body: [UInt8], secret: [UInt8] = []) throws(Problem) {
    guard let key = try Self.text(of: request) else { return nil }
    let target = request.head.query.isEmpty ? request.head.path : "\(request.head.path)?\(request.head.query)"
    // Only for a patch does the meaning depend on the type of the body.
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
  /// A response to be stored. The body of a stream is not stored.
  init(_ response: Response) {
    let body: [UInt8]? = if case .bytes(let bytes) = response.body { bytes } else { nil }
    self.init(status: response.status.code, fields: response.fields.bytes, body: body)
  }
}

extension Response {
  /// The response that is recorded under an idempotency key.
  init(_ settlement: KeyedResponse) {
    let answer = settlement.answer
    var fields = HeaderFields(recorded: answer.fields)
    if settlement.isReplay { fields.append(.idempotencyReplayed, "true") }
    self.init(
      status: Status(code: answer.status) ?? .ok,
      fields: fields,
      body: answer.body.map(Response.Body.bytes) ?? .none
    )
  }
}
