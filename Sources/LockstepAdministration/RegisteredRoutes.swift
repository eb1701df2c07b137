import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepModules
import LockstepOpenAPI
import LockstepRoutes
import LockstepStore
import LockstepSync

/// `/v1/admin/registered/{suite}`: the registered defaults.
package struct RegisteredRoutes: Sendable {
  static let pattern = "/v1/admin/registered/{suite}"

  private let store: String
  private let registry: RegisteredLedger
  private let gate: AdministratorGate
  private let quota: DefaultsQuota

  package init(_ reading: StateReader, gate: AdministratorGate, quota: DefaultsQuota) {
    (store, registry) = (reading.store, reading.registry)
    self.gate = gate
    self.quota = quota
  }

  package var routes: [Route] {
    [
      Route(.get, Self.pattern, summary: "The registered defaults of a suite.") { request in
        try gate.admit(request, .read) { _ in
          let suite = try request.suiteName()
          let representation = representation(of: suite, registry.current)
          let preconditions = try Preconditions(of: request.head)
          guard preconditions.withoutIfNoneMatch.allowsWrite(to: representation.cursor) else {
            throw changed(representation)
          }
          guard !preconditions.isFresh(representation) else {
            return .response(Response(status: .notModified, fields: representation.validatorFields))
          }
          return .response(response(representation))
        }
      }
      .described(described("getRegistered")),
      Route(.put, Self.pattern, summary: "Replaces the registered defaults of a suite.") { request in
        try write(request) { request, body in
          _ = try BodyType(of: request.head)
          let json = try JSON(body: body)
          guard let members = json.objectValue else { throw Problem.notAnObject(json) }
          return .patch(try PatchDocument(replacingAllBy: members))
        }
      }
      .described(described("putRegistered", RouteBody(.reference(SharedSchema.newValues.0)))),
      Route(.patch, Self.pattern, summary: "Changes registered defaults of a suite, all or none.") { request in
        try write(request) { request, body in
          try ValuesRoutes.patchAction(request, body)
        }
      }
      .described(described("patchRegistered", ValuesRoutes.patchBody())),
    ]
  }

  /// The OpenAPI description of a route. A route with a body is a write.
  private func described(_ name: String, _ body: RouteBody? = nil) -> RouteDescription {
    let schemas = [String: JSON].shared(
      ("RegisteredDefaults", .schema(["cursor": .cursorSchema, "values": .valuesSchema])),
      SharedSchema.newValues
    )
    let replayed: [RouteField] = body == nil ? [] : [.idempotencyReplayed]
    let response = RouteResponse(
      .ok,
      "The registered defaults.",
      fields: RouteField.validators + replayed,
      json: .reference("RegisteredDefaults")
    )
    let problems: Set<ProblemKind> = [
      .invalidParameter, .unauthorized, .forbidden, .notFound, .tooManyRequests, .overloaded,
    ]
    let written: Set<ProblemKind> = [.conflict, .preconditionFailed, .validationFailed, .quotaExceeded]
    return RouteDescription(
      name,
      part: "Administration",
      access: .administrator,
      parameters: [.suite] + (body == nil ? [.ifMatchOfRead, .ifNoneMatch] : RouteParameter.writing),
      body: body,
      responses: body == nil ? [response, .unmodified] : [response],
      problems: body == nil ? problems : problems.union(written).union(RouteDescription.bodyProblems(body)),
      schemas: schemas.merging(SharedSchema.valuePatches) { own, _ in own }
    )
  }

  /// Changes the registered defaults with the reactor that also changes users' suites.
  private func write(
    _ request: Request,
    _ read: @escaping @Sendable (Request, [UInt8]) throws -> ValuesAction
  ) throws -> HandlerResult {
    try gate.admit(request, .admin) { agent in try write(request, by: agent, read) }
  }

  private func write(
    _ request: Request,
    by agent: LiveServiceToken,
    _ read: @escaping @Sendable (Request, [UInt8]) throws -> ValuesAction
  ) throws -> HandlerResult {
    let suite = try request.suiteName()
    let preconditions = try Preconditions(of: request.head)
    return try request.withBody { body in
      let key = try IdempotencyKey(of: request, body: body)
      let action = try read(request, body)
      let change = RegisteredLedger.Change(
        suite: suite,
        key: key,
        owner: agent.keyOwner,
        by: agent,
        decide: { registered in try decide(on: suite, of: registered, preconditions, action) },
        response: { StoredResponse(response(representation(of: suite, $0))) },
        refusal: { error in
          (error as? Refusal).map { StoredResponse(Problem($0).response) }
            ?? (error as? Problem).map { StoredResponse($0.response) }
        }
      )
      return .making {
        ($0 as? Refusal).map { Problem($0) } ?? Problem.describing($0)
      } _: {
        let response = try await registry.change(change)
        if !response.isReplay, response.response.status == Status.ok.code {
          gate.log("change registered defaults", suite, agent.name)
        }
        return Response(response)
      }
    }
  }

  /// The changed values; `nil` for a value that is removed.
  private func decide(
    on suite: String,
    of registered: RegisteredDefaults,
    _ preconditions: Preconditions,
    _ action: ValuesAction
  ) throws -> [(key: String, value: [UInt8]?)] {
    let present = representation(of: suite, registered)
    // A suite without registered defaults does not exist, so `If-None-Match: *` permits its creation.
    let isNew =
      preconditions.ifNoneMatch == .any && preconditions.ifMatch == nil && registered.values(of: suite).isEmpty
    guard isNew || preconditions.allowsWrite(to: present.cursor) else {
      throw changed(present)
    }
    let state = MapState(registered.values(of: suite).map { ($0.key, $0.value) })
    let mutations = try ValuesReactor(quota: quota, registered: { _ in nil }).mutate(action, in: state)
    return mutations.compactMap { mutation in
      switch mutation {
      case .set(let key, let value): (key, value.encoded)
      case .removed(let key): (key, nil)
      // A patch never clears a map.
      case .cleared: nil
      }
    }
  }

  /// The problem if a precondition is false for the present representation.
  private func changed(_ present: Representation) -> Problem {
    Problem(
      .preconditionFailed,
      members: [("current", JSON(trusting: present.body.joined ?? [])), ("cursor", .string(present.tag))],
      fields: HeaderFields([.etag: "\"\(present.tag)\""])
    )
  }

  private func representation(of suite: String, _ registered: RegisteredDefaults) -> Representation {
    let view = StateView(store: store, LedgerView(state: UserState(), registered: registered))
    let shown = SuiteContent(suite, prefix: nil, view)
    let cursor = Cursor(store: store, revision: .none, registered: shown.registeredRevision)
    let values = JSONObject(shown.values.map { ($0.key.text, $0.value.json) })
    return Representation(
      cursor: cursor,
      body: (["cursor": .string(cursor.text), "values": .object(values)] as JSON).encoded()
    )
  }

  private func response(_ representation: Representation) -> Response {
    Response(status: .ok, fields: representation.fields, body: representation.body)
  }
}
