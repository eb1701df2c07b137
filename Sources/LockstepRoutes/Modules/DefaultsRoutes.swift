import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepModules

/// `/v1/defaults`: user defaults. A suite has a value for each key.
package final class DefaultsRoutes: Sendable {
  private let module: DefaultsModule
  private let reading: StateReader
  private let writing: StateWriter

  package init(module: DefaultsModule, reading: StateReader, writing: StateWriter) {
    self.module = module
    self.reading = reading
    self.writing = writing
  }

  package var routes: [Route] {
    let described = DescribedModule(module: module.userModule)
    let part = "Defaults"
    let key = [RouteParameter.suite, .element("key")]
    let suites = JSON.arraySchema(
      of: .reference("Suite")
    )
    let suite = JSON.schema(["name": .suiteSchema, "count": .indexSchema, "bytes": .indexSchema])
    return [
      Route(.get, "/v1/defaults", summary: "The suites in which the user has set values.") { [self] request in
        try reading.respond(to: request) { _, _ throws(Problem) in .suites }
      }
      .described(
        .reading(
          "listSuites",
          part: part,
          shows: .schema(["cursor": .cursorSchema, "suites": suites]),
          schemas: ["Suite": suite]
        )
      ),
      Route(.get, "/v1/defaults/{suite}", summary: "The user's values in a suite, and its registered defaults.") {
        [self] request in
        try reading.respond(to: request) { request, query throws(Problem) in
          .suite(try request.suiteName(), prefix: try query.text("prefix"))
        }
      }
      .described(
        .reading(
          "getSuite",
          part: part,
          parameters: [.suite, .prefix],
          shows: described.state,
          schemas: described.schemas
        )
      ),
      Route(.patch, "/v1/defaults/{suite}", summary: "Changes values of a suite, all or none.") { [self] request in
        try writing.respond(to: request, change: patch)
      }
      .described(
        .writing(
          "patchSuite",
          part: part,
          parameters: [.suite],
          body: Self.patchBody,
          responses: [.written(.ok, "The suite after the change.", shows: described.state)],
          schemas: SharedSchema.valuePatches
        )
      ),
      Route(.get, "/v1/defaults/{suite}/{key}", summary: "One value. The body is the value.") { [self] request in
        try reading.respond(to: request) { request, _ throws(Problem) in
          .value(suite: try request.suiteName(), key: try request.elementName("key"))
        }
      }
      .described(.reading("getDefault", part: part, parameters: key, shows: .valueSchema)),
      Route(.put, "/v1/defaults/{suite}/{key}", summary: "Sets one value. The body is the value.") { [self] request in
        try writing.respond(to: request, change: put)
      }
      .described(
        .writing(
          "setDefault",
          part: part,
          parameters: key,
          body: RouteBody(.valueSchema),
          responses: [
            .written(.created, "Created. The user had no value for the key.", shows: .valueSchema),
            .written(.ok, "Replaced the user's value for the key.", shows: .valueSchema),
          ]
        )
      ),
      Route(.delete, "/v1/defaults/{suite}/{key}", summary: "Removes the user's value.") { [self] request in
        try writing.respond(to: request, change: delete)
      }
      .described(.removing("removeDefault", part: part, parameters: key)),
    ]
  }

  /// The bodies that a patch of values accepts.
  static var patchBody: RouteBody {
    RouteBody([
      ("application/json", .reference(SharedSchema.changedValues.0)),
      ("application/merge-patch+json", .reference(SharedSchema.mergePatch.0)),
      ("application/json-patch+json", .reference(SharedSchema.jsonPatch.0)),
    ])
  }

  private func put(_ request: Request, _ body: [UInt8]) throws -> StateWriter.Change {
    let (suite, key) = (try request.suiteName(), try request.elementName("key"))
    _ = try BodyType(of: request.head)
    let value = try JSON(body: body)
    // The encoded value is at most eight times as long as the body. So most values cannot exceed
    // the limit, and are not measured here.
    let mayBeWrong = value.isNull || body.count > DefaultValue.maximumBytes / 8
    if mayBeWrong, let wrong = DefaultValue.fault(of: value) {
      throw Problem(.validationFailed, errors: [.init(pointer: "", detail: wrong)])
    }
    let collection = DefaultsAction.collection(suite)
    return StateWriter.Change(
      resource: .value(suite: suite, key: key),
      action: module.action(.set(key: key, value: EncodedJSON(value)), suite: suite),
      status: { $0.before.state.map(collection)[key] == nil ? .created : .ok }
    )
  }

  private func delete(_ request: Request, _ body: [UInt8]) throws -> StateWriter.Change {
    let (suite, key) = (try request.suiteName(), try request.elementName("key"))
    return StateWriter.Change(
      resource: .value(suite: suite, key: key),
      action: module.action(.remove(key: key), suite: suite),
      showsResource: false,
      status: { _ in .noContent }
    )
  }

  private func patch(_ request: Request, _ body: [UInt8]) throws -> StateWriter.Change {
    let suite = try request.suiteName()
    return StateWriter.Change(
      resource: .suite(suite, prefix: nil),
      action: module.action(try Self.patchAction(request, body), suite: suite),
      status: { _ in .ok }
    )
  }

  /// Reads a patch of values as an action. The `Content-Type` selects the kind of patch.
  static func patchAction(_ request: Request, _ body: [UInt8]) throws -> DefaultsAction {
    let type = try BodyType(of: request.head)
    let json = try JSON(body: body)
    if type == .jsonPatch {
      do throws(Refusal) { return .patch(try PatchDocument(json)) } catch { throw Problem(error) }
    }
    guard let members = json.objectValue else { throw Problem.notAnObject(json) }
    return type == .mergePatch ? .mergePatch(members) : .merge(members)
  }
}

extension Request {
  /// The suite's name in the path. Throws `invalid-parameter` if the name is not valid.
  func suiteName() throws(Problem) -> String {
    let name = parameters["suite"] ?? ""
    if let wrong = SuiteName.fault(of: name) { throw Problem(.invalidParameter, detail: wrong) }
    return name
  }
}
