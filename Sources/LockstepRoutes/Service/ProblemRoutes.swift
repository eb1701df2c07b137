import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// `GET /problems/<slug>`: every problem's `type` can be fetched and explains itself.
package enum ProblemRoutes {
  package static var routes: [Route] {
    let pages = Dictionary(
      uniqueKeysWithValues: ProblemKind.allCases.map {
        ($0.slug, Response.json(page(of: $0), cacheControl: "public, max-age=3600"))
      }
    )
    let list = Response.json(
      ["items": .array(ProblemKind.allCases.map(page))],
      cacheControl: "public, max-age=3600"
    )
    return [
      Route(.get, "/problems", summary: "Every kind of error this service answers with.") { _ in .response(list) }
        .described(
          described(
            "listProblems",
            shows: .schema(ofObject: [SchemaMember(name: "items", schema: .arraySchema(of: .reference("ProblemPage")))])
          )
        ),
      Route(.get, "/problems/{slug}", summary: "What an error means and what to do.") { request in
        let slug = request.parameters["slug"] ?? ""
        guard let page = pages[slug] else {
          throw Problem(.notFound, detail: "There is no problem named “\(slug)”. GET /problems lists them.")
        }
        return .response(page)
      }
      .described(described("getProblem", parameters: [slug], shows: .reference("ProblemPage"), [.notFound])),
    ]
  }

  private static var slug: RouteParameter {
    RouteParameter(
      "slug",
      in: .path,
      "The last part of a problem's type.",
      schema: ["type": "string", "enum": .array(ProblemKind.allCases.map { .string($0.slug) })]
    )
  }

  private static func described(
    _ name: String,
    parameters: [RouteParameter] = [],
    shows schema: JSON,
    _ problems: Set<ProblemKind> = []
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: "Service",
      parameters: parameters,
      answers: [RouteAnswer(.ok, "What it means.", fields: [.cacheControl], json: schema)],
      problems: problems,
      schemas: [
        "ProblemPage": .schema(ofObject: [
          SchemaMember(name: "type", schema: ["type": "string", "format": "uri-reference"]),
          SchemaMember(name: "title", schema: .textSchema),
          SchemaMember(name: "status", schema: ["type": "integer"]),
          SchemaMember(name: "explanation", schema: .textSchema),
        ])
      ]
    )
  }

  private static func page(of kind: ProblemKind) -> JSON {
    .object([
      "type": .string("/problems/\(kind.slug)"),
      "title": .string(kind.title),
      "status": .integer(Int64(kind.status.code)),
      "explanation": .string(kind.explanation),
    ])
  }
}
