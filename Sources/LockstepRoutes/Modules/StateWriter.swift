import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepStore
import LockstepSync

/// A write to a user's state, and how its response is made.
protocol StateWrite: Sendable {
  var actions: [UserAction] { get }
  /// The conditions of single actions.
  var conditions: [WriteCondition] { get }
  /// The resource that the preconditions and the ETag refer to. `nil`: the user's whole state.
  var resource: StateResource? { get }

  /// The response. `view` is the state after the write.
  func response(to committed: Committed, in view: StateView) -> Response

  /// The cost of making the response, in the unit of `BackgroundEncoder.Weight`.
  func weight(of committed: Committed, in view: StateView) -> Int

  /// Rebuilds the response from the state after the write. `nil` if the response shows mutations,
  /// because the journal has those.
  var again: (@Sendable (Status, StateView) -> Response?)? { get }

  func problem(for refused: ActionRefusal, store: String) -> Problem
}

extension StateWrite {
  var conditions: [WriteCondition] { [] }

  /// All conditions, with those of the request first.
  func conditions(of preconditions: Preconditions) -> [WriteCondition] {
    let ofRequest = WriteCondition(action: nil, resource: resource, preconditions: preconditions)
    return (preconditions.isEmpty ? [] : [ofRequest]) + conditions
  }
}

/// Turns a write request into a transaction and its response.
///
/// This is a class because each route and each pending response holds it. A struct would be copied
/// for each of them.
package final class StateWriter: Sendable {
  /// A change of one resource.
  // A class, because several closures hold it.
  final class Change: StateWrite {
    let resource: StateResource?
    let action: UserAction
    /// Returns the JSON Pointer into the client's body for a pointer into the action's payload.
    let pointer: @Sendable (String) -> String
    let showsResource: Bool
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

  let reading: StateReader
  let gate: StateAuthenticator
  private let bodies: BodyDecoder
  private let ledger: Ledger

  package init(_ reading: StateReader, bodies: BodyDecoder, ledger: Ledger) {
    self.reading = reading
    self.bodies = bodies
    gate = reading.gate
    self.ledger = ledger
  }

  /// Responds to a write of one resource.
  func respond(
    to request: Request,
    change: @escaping @Sendable (Request, [UInt8], WorkBudget) throws -> Change
  ) throws -> HandlerResult {
    try gate.respond(to: request) { [self] session in
      let preconditions = try Preconditions(of: request.head)
      return try request.withBody { [self] body in
        try read(request, body, of: session) {
          try change(request, body, $0)
        } then: { [self] change, key, resources in
          try commit(change, preconditions, key, request.network(of: session), of: session, resources)
        }
      }
    }
  }

  /// Reads a write and its idempotency key from the body of a request.
  func read<Write: StateWrite>(
    _ request: Request,
    _ body: [UInt8],
    of session: LiveSession,
    _ read: @escaping @Sendable (WorkBudget) throws -> Write,
    then next: @escaping @Sendable (Write, IdempotencyKey?, BodyDecoder.Resources) throws -> HandlerResult
  ) throws -> HandlerResult {
    try bodies.decode(body, for: session.user, from: request.network(of: session)) { budget in
      // The key has a digest of the body.
      let key = try IdempotencyKey(of: request, body: body)?.owned(by: session)
      return (try read(budget), key)
    } then: {
      try next($0.0, $0.1, $1)
    }
  }

  /// Queues a write, and responds when the write is on disk. If the user's state is in memory, the
  /// write is in the writer's queue when this function returns. Throws if the write cannot be
  /// queued, for example because the queue is full.
  func commit(
    _ write: some StateWrite,
    _ preconditions: Preconditions,
    _ key: IdempotencyKey?,
    _ network: Int?,
    of session: LiveSession,
    _ resources: BodyDecoder.Resources
  ) throws -> HandlerResult {
    let (store, user) = (reading.store, session.user)
    let response = { @Sendable (committed: Committed) in
      write.response(to: committed, in: StateView(store: store, committed.after))
    }
    let problem = { @Sendable (error: any Error) in
      (error as? ActionRefusal).map { write.problem(for: $0, store: store) }
    }
    let respond = { @Sendable [reading] (result: PendingWrite.Result) throws -> HandlerResult in
      switch result {
      case .success(.done(let committed)):
        let weight = write.weight(of: committed, in: StateView(store: store, committed.after))
        guard weight > BackgroundEncoder.bound else { return .response(response(committed)) }
        // The write is on disk, so it gets its response even if the background encoder fails.
        return .async {
          .response(
            (try? await reading.backgroundEncoder.run(for: user, from: network) { response(committed) })
              ?? response(committed)
          )
        }
      case .success(.recorded(let replay)) where replay.isReplay:
        return .async {
          do {
            let stored = StoredResponses(reading: reading)
            let whole = try await stored.whole(replay.response, to: write, preconditions, of: user, from: network)
            return .response(Response(KeyedResponse(response: whole, isReplay: true)))
          } catch {
            throw reading.gate.addingCursor(to: problem(error) ?? error, of: user)
          }
        }
      case .success(.recorded(let first)): return .response(Response(first))
      case .failure(let error): throw reading.gate.addingCursor(to: problem(error) ?? error, of: user)
      }
    }
    let conditions = write.conditions(of: preconditions)
    let history = ledger.history
    let submit = { @Sendable [self] (points: [[PastPoint]]) throws -> HandlerResult in
      try self.submit(
        transaction(of: write, conditions, points, history, key, network, of: session, resources),
        respond
      )
    }
    if conditions.isEmpty { return try submit([]) }
    switch reading.points(of: conditions, of: user, from: network) {
    case .known(let points): return try submit(points)
    case .stored(let read): return .async { try submit(try await read()) }
    }
  }

  private func transaction(
    of write: some StateWrite,
    _ conditions: [WriteCondition],
    _ points: [[PastPoint]],
    _ history: Int,
    _ key: IdempotencyKey?,
    _ network: Int?,
    of session: LiveSession,
    _ resources: BodyDecoder.Resources
  ) -> Transaction {
    let store = reading.store
    let condition = { @Sendable (view: LedgerView) throws in
      let view = StateView(store: store, view).forManyConditions
      for (condition, points) in zip(conditions, points) {
        if let problem = condition.refusal(in: view, points) { throw problem }
      }
    }
    return Transaction(
      user: session.user,
      session: session,
      actions: write.actions,
      condition: conditions.isEmpty ? nil : condition,
      history: conditions.isEmpty ? nil : history,
      key: key,
      network: network,
      response: { StoredResponse(write.response(to: $0, in: StateView(store: store, $0.after))) },
      refusal: { error in
        let refused = (error as? ActionRefusal).map { write.problem(for: $0, store: store) }
        return (refused ?? error as? Problem).map { StoredResponse($0.response) }
      },
      kept: { StoredResponses.kept($0, to: write, isChanged: $1) },
      steps: resources.steps,
      memory: resources.memory
    )
  }

  /// Responds with what a write would do, and does not do it.
  func preview(
    _ write: some StateWrite,
    _ preconditions: Preconditions,
    _ network: Int?,
    of session: LiveSession,
    _ resources: BodyDecoder.Resources
  ) -> HandlerResult {
    let (store, user) = (reading.store, session.user)
    let conditions = write.conditions(of: preconditions)
    let history = ledger.history
    return .async { [self] in
      let points =
        switch reading.points(of: conditions, of: user, from: network) {
        case .known(let points): points
        case .stored(let read): try await read()
        }
      let cached = try await reading.cache.load(user, from: network)
      let transaction = transaction(of: write, conditions, points, history, nil, nil, of: session, resources)
      return .response(
        try await reading.backgroundEncoder.run(for: user, from: network) { [ledger] in
          do {
            let previewed = try ledger.preview(transaction, cached.state)
            return write.response(to: previewed, in: StateView(store: store, previewed.before))
          } catch let refusal as ActionRefusal {
            throw write.problem(for: refusal, store: store)
          }
        }
      )
    }
  }

  private func submit(
    _ transaction: Transaction,
    _ respond: @escaping @Sendable (PendingWrite.Result) throws -> HandlerResult
  ) throws -> HandlerResult {
    let reservation = ledger.reserve(transaction.user)
    let settled = { @Sendable [ledger] (result: PendingWrite.Result) throws -> HandlerResult in
      guard case .failure(let error) = result, error is LongDecisionError else { return try respond(result) }
      return .async {
        let outcome: PendingWrite.Result
        do { outcome = .success(try await ledger.commitLong(transaction)) } catch { outcome = .failure(error) }
        return try respond(outcome)
      }
    }
    let submit = { @Sendable [ledger] () throws -> HandlerResult in
      let pending = PendingWrite(respond: settled)
      do {
        try ledger.submit(transaction, reservation) { pending.settle($0) }
      } catch {
        return try settled(.failure(error))
      }
      return .parked(pending)
    }
    guard reservation.needsLoading else { return try submit() }
    return .async { [ledger] in
      do { try await ledger.load(reservation, from: transaction.network) } catch { return try respond(.failure(error)) }
      return try submit()
    }
  }
}

extension Request {
  /// See `LiveSession.networkShare`.
  func network(of session: LiveSession) -> Int? {
    session.network(at: peer.host)
  }
}

extension LiveSession {
  /// See `networkShare`. `host` is the client's address. A call takes about a microsecond, so fast paths pass the
  /// host on instead.
  func network(at host: String) -> Int? { agent == nil ? networkShare(ClientNetwork(host: host)) : nil }
}

extension StateWriter.Change {
  var actions: [UserAction] { [action] }

  func response(to committed: Committed, in view: StateView) -> Response {
    response(status(committed), after: view)
  }

  func weight(of committed: Committed, in view: StateView) -> Int {
    showsResource ? resource?.weight(in: view) ?? 0 : 0
  }

  var again: (@Sendable (Status, StateView) -> Response?)? { response(_:after:) }

  private func response(_ status: Status, after view: StateView) -> Response {
    // Encoding a resource that was just written cannot fail. If it was removed, there is no body.
    let shown = showsResource ? (try? resource?.representation(of: view)) : nil
    var fields = shown?.fields ?? HeaderFields([.cacheControl: "no-store"])
    fields.append(view.position)
    return Response(status: status, fields: fields, body: shown?.body ?? .none)
  }

  func problem(for refused: ActionRefusal, store: String) -> Problem {
    Problem(refused, store: store, pointer: pointer)
  }
}

extension Preconditions {
  /// The problem, with the resource as it is now, if the resource does not meet the preconditions.
  /// If `resource` is `nil`, the user's whole state must meet them.
  func refusal(of resource: StateResource?, in view: StateView, isUnchanged: Bool) -> Problem? {
    // Runs on the writer thread, so it encodes the resource only if it must.
    let cursor =
      switch resource?.knownCursor(in: view) {
      case nil: view.cursor
      case .cursor(let cursor)?: cursor
      case .missing?: Cursor?.none
      case .onlyWithContent?: (try? resource?.representation(of: view))?.cursor
      }
    guard !allowsWrite(to: cursor, isOwn: resource?.isOwn(in: view) ?? true, isUnchanged: isUnchanged) else {
      return nil
    }
    let present = try? resource?.representation(of: view)
    var problem = Problem(.preconditionFailed)
    if resource == nil {
      problem.detail = "The user's state does not meet the precondition."
      let cursor = JSON.string(view.cursorText)
      problem.members = [("current", ["cursor": cursor]), ("cursor", cursor)]
    } else if let present {
      problem.members = [("current", JSON(trusting: present.body.joined ?? [])), ("cursor", .string(present.tag))]
      problem.fields.append(.etag, "\"\(present.tag)\"")
    } else {
      problem.detail = "This resource does not exist."
      problem.members = [("current", .null), ("cursor", .string(view.cursorText))]
    }
    problem.fields.append(view.position)
    return problem
  }
}

extension Problem {
  /// The problem for a refused action, with the cursor of the state before the transaction.
  package init(_ refused: ActionRefusal, store: String, pointer: (String) -> String) {
    self.init(refused.refusal, pointer: pointer)
    fields.append(StateView(store: store, refused.view).position)
  }

  package init(_ refusal: Refusal, pointer: (String) -> String = { $0 }) {
    switch refusal {
    case .invalid(let faults):
      self.init(.validationFailed, errors: faults.map { Fault(pointer: pointer($0.pointer), detail: $0.detail) })
    case .notFound(let detail): self.init(.notFound, detail: detail)
    case .forbidden(let detail): self.init(.forbidden, detail: detail)
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
      throw Problem(.invalidParameter, detail: "An Idempotency-Key must have 1 to \(maximumBytes) bytes.")
    }
    return key
  }

  /// The idempotency key of a request, or `nil` if the request has none. If the body holds a
  /// password, pass a `secret` that cannot be guessed.
  package init?(of request: Request, body: [UInt8], secret: [UInt8] = []) throws(Problem) {
    guard let key = try Self.text(of: request) else { return nil }
    let target = request.head.query.isEmpty ? request.head.path : "\(request.head.path)?\(request.head.query)"
    // Only the body of a PATCH request can mean different things, depending on its Content-Type.
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
  /// The form of a response that is stored. It has no body if the response is a stream.
  package init(_ response: Response) {
    self.init(status: response.status.code, fields: response.fields.bytes, body: response.body.joined)
  }
}

extension Response {
  /// The response that is recorded under an idempotency key.
  package init(_ keyed: KeyedResponse) {
    let stored = keyed.response
    var fields = HeaderFields(recorded: stored.fields)
    if keyed.isReplay { fields.append(.idempotencyReplayed, "true") }
    self.init(
      status: Status(code: stored.status) ?? .ok,
      fields: fields,
      body: stored.body.map(Response.Body.bytes) ?? .none
    )
  }
}
