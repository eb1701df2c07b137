import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepModules
import LockstepSync

/// `/v1/favorites`: a list.
package struct FavoritesRoutes: Sendable {
  let module: FavoritesModule
  let reading: StateReader
  let writing: StateWriter

  package init(module: FavoritesModule, reading: StateReader, writing: StateWriter) {
    self.module = module
    self.reading = reading
    self.writing = writing
  }

  package var routes: [Route] {
    let describedAs = Descriptions(DescribedModule(module: module.userModule))
    return [
      Route(.get, "/v1/favorites", summary: "The user's favorites, in their order.") { request in
        try reading.answer(request) { _, query throws(Problem) in
          .list(try ListQuery(FavoritesReactor.collection, query))
        }
      }
      .described(describedAs.list),
      Route(.get, "/v1/favorites/{id}", summary: "One favorite, with its place.") { request in
        try reading.answer(request) { request, _ throws(Problem) in
          .element(FavoritesReactor.collection, id: try id(of: request))
        }
      }
      .described(describedAs.element),
      Route(.put, "/v1/favorites/{id}", summary: "Adds a favorite, or replaces it where it is.") { request in
        try writing.answer(request, change: put)
      }
      .described(describedAs.put),
      Route(.patch, "/v1/favorites/{id}", summary: "Changes a favorite's title and data by a patch.") { request in
        try writing.answer(request, change: patch)
      }
      .described(describedAs.patch),
      Route(.delete, "/v1/favorites/{id}", summary: "Removes a favorite.") { request in
        try writing.answer(request, change: delete)
      }
      .described(describedAs.delete),
      Route(.put, "/v1/favorites/{id}/position", summary: "Moves a favorite to another place.") { request in
        try writing.answer(request, change: move)
      }
      .described(describedAs.move),
    ]
  }

  // MARK: Changes

  private func put(_ request: Request, _ body: [UInt8]) throws -> StateWriter.Change {
    let id = try id(of: request)
    _ = try BodyType(of: request.head)
    // A favorite needs nothing but its id, so the body may be empty.
    var reader = PayloadReader(body.isEmpty ? [:] : try JSON(body: body))
    let (content, index) = (reader.favorite(), reader.index("index"))
    reader.expectID(id)
    try reader.finishProblem()
    return change(id, .add(id: id, content, index: index)) { committed in
      committed.before.state.list(FavoritesReactor.collection)[id] == nil ? .created : .ok
    }
  }

  private func patch(_ request: Request, _ body: [UInt8]) throws -> StateWriter.Change {
    let id = try id(of: request)
    let type = try BodyType(of: request.head)
    let json = try JSON(body: body)
    switch type {
    case .jsonPatch:
      let document: PatchDocument
      do throws(Refusal) { document = try PatchDocument(json) } catch { throw Problem(error) }
      return change(id, .patch(id: id, document))
    case .json, .mergePatch:
      guard let members = json.objectValue else { throw Problem.notAnObject(json) }
      var reader = PayloadReader(json)
      _ = reader.favorite()
      reader.passOver("index")
      // A fault in `id` is thrown now, with all others. Without one, the reactor checks the
      // members, because it knows the favorite.
      if reader.expectID(id) { try reader.finishProblem() }
      return change(id, .update(id: id, patch: members.withoutServersWords))
    }
  }

  private func delete(_ request: Request, _ body: [UInt8]) throws -> StateWriter.Change {
    let id = try id(of: request)
    var change = change(id, .remove(id: id)) { _ in .noContent }
    change.showsResource = false
    return change
  }

  private func move(_ request: Request, _ body: [UInt8]) throws -> StateWriter.Change {
    let id = try id(of: request)
    _ = try BodyType(of: request.head)
    var reader = PayloadReader(try JSON(body: body))
    let index = reader.index("index", isRequired: true)
    try reader.finishProblem()
    return change(id, .move(id: id, index: index ?? 0))
  }

  private func change(
    _ id: String,
    _ action: FavoritesAction,
    status: @escaping @Sendable (Committed) -> Status = { _ in .ok }
  ) -> StateWriter.Change {
    StateWriter.Change(
      resource: .element(FavoritesReactor.collection, id: id),
      action: module.action(action),
      status: status
    )
  }

  private func id(of request: Request) throws(Problem) -> String {
    try request.elementName("id")
  }
}

extension FavoritesRoutes {
  /// The OpenAPI descriptions of the routes.
  fileprivate struct Descriptions {
    private static let part = "Favorites"
    private static let id = RouteParameter.element("id")

    let module: DescribedModule

    init(_ module: DescribedModule) { self.module = module }

    var list: RouteDescription {
      .reading(
        "listFavorites",
        part: Self.part,
        parameters: RouteParameter.pages,
        shows: module.state,
        fields: [.link],
        schemas: module.schemas
      )
    }

    var element: RouteDescription {
      .reading("getFavorite", part: Self.part, parameters: [Self.id], shows: module.placedElement)
    }

    var put: RouteDescription {
      .writing(
        "putFavorite",
        part: Self.part,
        parameters: [Self.id],
        body: RouteBody(module.body(of: "add", without: "id", passingOver: []), isRequired: false),
        answers: [
          .written(.created, "It wasn't there, and is now.", shows: module.placedElement),
          .written(.ok, "It was there, and is replaced where it is.", shows: module.placedElement),
        ]
      )
    }

    var patch: RouteDescription {
      let members = module.body(of: "update", without: "id", passingOver: ["index"])
      return .writing(
        "patchFavorite",
        part: Self.part,
        parameters: [Self.id],
        body: RouteBody([
          ("application/json", members), ("application/merge-patch+json", members),
          ("application/json-patch+json", .reference(SharedSchema.jsonPatch.0)),
        ]),
        answers: [.written(.ok, "The favorite after it.", shows: module.placedElement)],
        problems: [.notFound],
        schemas: .shared(SharedSchema.jsonPatch)
      )
    }

    var delete: RouteDescription { .removing("removeFavorite", part: Self.part, parameters: [Self.id]) }

    var move: RouteDescription {
      .writing(
        "moveFavorite",
        part: Self.part,
        parameters: [Self.id],
        body: RouteBody(.closedSchema(of: [SchemaMember(name: "index", schema: .indexSchema)])),
        answers: [.written(.ok, "The favorite at its place; past the end means the end.", shows: module.placedElement)],
        problems: [.notFound]
      )
    }
  }
}

extension Request {
  /// The id or key in the path. Throws `invalid-parameter` if it is not valid.
  func elementName(_ parameter: String) throws(Problem) -> String {
    let name = parameters[parameter] ?? ""
    if let wrong = ElementName.fault(of: name) {
      throw Problem(.invalidParameter, detail: "The \(parameter) in the path can't be: \(wrong)")
    }
    return name
  }
}

extension JSONObject {
  /// The members of a favorite, without those that the server sets. A client may send these back
  /// unchanged from a `GET`.
  fileprivate var withoutServersWords: JSONObject {
    JSONObject(filter { !["id", "addedAt", "updatedAt", "index"].contains($0.name) }.map { ($0.name, $0.value) })
  }
}

extension PayloadReader {
  /// Adds a fault if the body has an id that differs from the id in the path. Returns whether it
  /// differs.
  @discardableResult
  mutating func expectID(_ id: String) -> Bool {
    guard let said = value("id"), said.stringValue.map({ ElementKey($0) }) != ElementKey(id) else { return false }
    add("id", "It must be the id in the path, or be left out.")
    return true
  }

  /// Throws a problem with all faults that were found.
  func finishProblem() throws(Problem) {
    do throws(Refusal) { try finish() } catch { throw Problem(error) }
  }
}

extension Problem {
  /// A body that should be an object.
  static func notAnObject(_ json: JSON) -> Problem {
    Problem(
      .validationFailed,
      errors: [.init(pointer: "", detail: "It must be an object, and is \(json.typeName).")]
    )
  }
}
