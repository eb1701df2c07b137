import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepModules
import LockstepOpenAPI

/// The routes of a map whose values clients set by their keys: the suites of user defaults, or a
/// declared map.
// A class, because each route and each pending response holds it.
package final class ValuesRoutes: Sendable {
  /// A kind of map, and its collections.
  protocol Place: Sendable {
    /// The paths of a whole map and of one value.
    var paths: (whole: String, value: String) { get }
    var rules: ValueRules { get }
    var words: ValuesDescription { get }

    /// The collection that a request names.
    func collection(in request: Request) throws(Problem) -> CollectionName
    func whole(_ collection: CollectionName, prefix: String?) -> StateResource
    func value(_ key: String, of collection: CollectionName) -> StateResource
    func action(_ action: ValuesAction, on collection: CollectionName) -> UserAction
  }

  private let place: any Place
  private let reading: StateReader
  private let writing: StateWriter

  init(_ place: any Place, reading: StateReader, writing: StateWriter) {
    (self.place, self.reading, self.writing) = (place, reading, writing)
  }

  /// `/v1/defaults`.
  package static func suites(_ module: DefaultsModule, reading: StateReader, writing: StateWriter) -> [Route] {
    [SuitesPlace.listing(reading)] + ValuesRoutes(SuitesPlace(module), reading: reading, writing: writing).routes
  }

  var routes: [Route] {
    let (paths, words) = (place.paths, place.words)
    return [
      Route(.get, paths.whole, summary: words.wholeSummary) { [self] request in
        try reading.respond(to: request) { [self] request, query throws(Problem) in
          place.whole(try place.collection(in: request), prefix: try query.text("prefix"))
        }
      }
      .described(words.whole),
      Route(.patch, paths.whole, summary: words.patchSummary) { [self] request in
        try writing.respond(to: request, change: patch)
      }
      .described(words.patch),
      Route(.get, paths.value, summary: "One value. The body is the value.") { [self] request in
        try reading.respond(to: request) { [self] request, _ throws(Problem) in
          place.value(try request.elementName("key"), of: try place.collection(in: request))
        }
      }
      .described(words.value),
      Route(.put, paths.value, summary: "Sets one value. The body is the value.") { [self] request in
        try writing.respond(to: request, change: put)
      }
      .described(words.put),
      Route(.delete, paths.value, summary: "Removes the user's value.") { [self] request in
        try writing.respond(to: request, change: delete)
      }
      .described(words.remove),
    ]
  }

  /// The bodies that a patch of values accepts. `changes` is the schema of new values by key.
  package static func patchBody(_ changes: JSON = .reference(SharedSchema.changedValues.0)) -> RouteBody {
    RouteBody([
      ("application/json", changes),
      ("application/merge-patch+json", .reference(SharedSchema.mergePatch.0)),
      ("application/json-patch+json", .reference(SharedSchema.jsonPatch.0)),
    ])
  }

  private func put(_ request: Request, _ body: [UInt8], _ budget: WorkBudget) throws -> StateWriter.Change {
    let (collection, key) = (try place.collection(in: request), try request.elementName("key"))
    _ = try BodyType(of: request.head)
    let value = try JSON(body: body)
    if place.rules.canRefuse(value, ofBytes: body.count) {
      let faults = place.rules.faults(of: value, budget)
      if !faults.isEmpty { throw Problem(Refusal.invalid(faults)) }
    }
    return StateWriter.Change(
      resource: place.value(key, of: collection),
      action: place.action(.set(key: key, value: EncodedJSON(value)), on: collection),
      status: { $0.before.state.map(collection)[key] == nil ? .created : .ok }
    )
  }

  private func delete(_ request: Request, _ body: [UInt8], _ budget: WorkBudget) throws -> StateWriter.Change {
    let (collection, key) = (try place.collection(in: request), try request.elementName("key"))
    return StateWriter.Change(
      resource: place.value(key, of: collection),
      action: place.action(.remove(key: key), on: collection),
      showsResource: false,
      status: { _ in .noContent }
    )
  }

  private func patch(_ request: Request, _ body: [UInt8], _ budget: WorkBudget) throws -> StateWriter.Change {
    let collection = try place.collection(in: request)
    let action = try Self.patchAction(request, body)
    if case .merge(let values) = action { try check(values, ofBytes: body.count, budget) }
    return StateWriter.Change(
      resource: place.whole(collection, prefix: nil),
      action: place.action(action, on: collection),
      status: { _ in .ok }
    )
  }

  /// Checks the values of a `merge`, so that values that are too long do not reach the writer thread. The
  /// reactor does not check them by their schema.
  private func check(_ values: JSONObject, ofBytes count: Int, _ budget: WorkBudget) throws(Problem) {
    guard place.rules.canRefuse(.object(values), ofBytes: count) else { return }
    var faults: [FieldFault] = []
    for (key, value) in values {
      let start = JSONPointer(tokens: [key]).description
      if let wrong = ElementName.fault(of: key) { faults.append(FieldFault(pointer: start, detail: wrong)) }
      guard !value.isNull else { continue }
      faults += place.rules.faults(of: value, budget).map { FieldFault(pointer: start + $0.pointer, detail: $0.detail) }
    }
    if !faults.isEmpty { throw Problem(Refusal.invalid(faults)) }
  }

  /// Reads a patch of values as an action. The `Content-Type` selects the kind of patch.
  package static func patchAction(_ request: Request, _ body: [UInt8]) throws -> ValuesAction {
    let type = try BodyType(of: request.head)
    let json = try JSON(body: body)
    if type == .jsonPatch {
      do throws(Refusal) { return .patch(try PatchDocument(json)) } catch { throw Problem(error) }
    }
    guard let members = json.objectValue else { throw Problem.notAnObject(json) }
    return type == .mergePatch ? .mergePatch(members) : .merge(members)
  }
}

/// The descriptions of the routes of a map.
struct ValuesDescription: Sendable {
  let part: String
  let wholeSummary: String
  let patchSummary: String
  /// The names of the operations.
  let names: (whole: String, patch: String, value: String, put: String, remove: String)
  /// The parameters of the path of a whole map.
  let parameters: [RouteParameter]
  let module: UserModule
  /// A value, as clients get it.
  let shown: JSON
  /// The rules for a value that clients send.
  let rules: ValueRules

  private var described: DescribedModule { DescribedModule(module: module) }
  private var ofValue: [RouteParameter] { parameters + [.element("key")] }

  var whole: RouteDescription {
    .reading(
      names.whole,
      part: part,
      parameters: parameters + [.prefix],
      shows: described.state,
      schemas: described.schemas
    )
  }

  var patch: RouteDescription {
    .writing(
      names.patch,
      part: part,
      parameters: parameters,
      body: rules.hasSchema ? ValuesRoutes.patchBody(rules.changesSchema) : ValuesRoutes.patchBody(),
      responses: [.written(.ok, "All values after the change.", shows: described.state)],
      schemas: SharedSchema.valuePatches
    )
  }

  var value: RouteDescription { .reading(names.value, part: part, parameters: ofValue, shows: shown) }

  var put: RouteDescription {
    .writing(
      names.put,
      part: part,
      parameters: ofValue,
      body: RouteBody(rules.schema),
      responses: [
        .written(.created, "Created. The user had no value for the key.", shows: shown),
        .written(.ok, "Replaced the user's value for the key.", shows: shown),
      ]
    )
  }

  var remove: RouteDescription { .removing(names.remove, part: part, parameters: ofValue) }
}

// MARK: Suites

/// `/v1/defaults`: user defaults. A suite has a value for each key.
struct SuitesPlace: ValuesRoutes.Place {
  private let module: DefaultsModule

  init(_ module: DefaultsModule) { self.module = module }

  var paths: (whole: String, value: String) { ("/v1/defaults/{suite}", "/v1/defaults/{suite}/{key}") }
  var rules: ValueRules { .any }

  var words: ValuesDescription {
    ValuesDescription(
      part: Self.part,
      wholeSummary: "The user's values in a suite, and its registered defaults.",
      patchSummary: "Changes values of a suite, all or none.",
      names: ("getSuite", "patchSuite", "getDefault", "setDefault", "removeDefault"),
      parameters: [.suite],
      module: module.userModule,
      shown: .valueSchema,
      rules: rules
    )
  }

  func collection(in request: Request) throws(Problem) -> CollectionName {
    Suite.collection(try request.suiteName())
  }

  func whole(_ collection: CollectionName, prefix: String?) -> StateResource {
    .suite(collection.part ?? "", prefix: prefix)
  }

  func value(_ key: String, of collection: CollectionName) -> StateResource {
    .value(suite: collection.part ?? "", key: key)
  }

  func action(_ action: ValuesAction, on collection: CollectionName) -> UserAction {
    module.action(action, suite: collection.part ?? "")
  }

  private static let part = "Defaults"

  /// `GET /v1/defaults`.
  static func listing(_ reading: StateReader) -> Route {
    let suites = JSON.arraySchema(of: .reference("Suite"))
    let suite = JSON.schema(["name": .suiteSchema, "count": .indexSchema, "bytes": .indexSchema])
    return Route(.get, "/v1/defaults", summary: "The suites in which the user has set values.") { request in
      try reading.respond(to: request) { _, _ throws(Problem) in .suites }
    }
    .described(
      .reading(
        "listSuites",
        part: part,
        shows: .schema(["cursor": .cursorSchema, "suites": suites]),
        schemas: ["Suite": suite]
      )
    )
  }
}

extension Request {
  /// The suite's name in the path. Throws `invalid-parameter` if the name is not valid.
  package func suiteName() throws(Problem) -> String {
    let name = parameters["suite"] ?? ""
    if let wrong = Suite.fault(of: name) { throw Problem(.invalidParameter, detail: wrong) }
    return name
  }
}

// MARK: Declared maps

/// `/v1/<name>`: a declared map.
struct DeclaredMapPlace: ValuesRoutes.Place {
  private let declaration: DeclaredCollection
  private let module: UserModule
  let rules: ValueRules

  init(_ declared: DeclaredModule) {
    (declaration, module, rules) = (declared.declaration, declared.module, declared.declaration.valueRules)
  }

  private var path: String { "/v1/\(declaration.name)" }
  var paths: (whole: String, value: String) { (path, "\(path)/{key}") }

  var words: ValuesDescription {
    let name = declaration.name.inPascalCase
    return ValuesDescription(
      part: declaration.name,
      wholeSummary: "The user's values in \(declaration.name).",
      patchSummary: "Changes values of \(declaration.name), all or none.",
      names: ("get\(name)", "patch\(name)", "get\(name)Element", "put\(name)Element", "remove\(name)Element"),
      parameters: [],
      module: module,
      // A stored value may be older than the schema.
      shown: DescribedModule(module: module).element,
      rules: rules
    )
  }

  func collection(in request: Request) throws(Problem) -> CollectionName { CollectionName(declaration.name) }

  func whole(_ collection: CollectionName, prefix: String?) -> StateResource {
    .map(collection, prefix: prefix)
  }

  func value(_ key: String, of collection: CollectionName) -> StateResource { .entry(collection, key: key) }

  func action(_ action: ValuesAction, on collection: CollectionName) -> UserAction {
    var read = declaration.action(action)
    read.version = module.version
    return read
  }
}
