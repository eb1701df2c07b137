import LockstepCollections
import LockstepHTTP
import LockstepJSON

/// `GET /problems/<slug>`: the pages that the `type` of problems refers to.
package enum ProblemRoutes {
  private static let page = ValueFormat<ProblemKind>(
    .member("type", ValueFormat(schema: .addressSchema) { .string($0) }) { "/problems/\($0.slug)" },
    .member("title", .text, \.title),
    .member("status", ValueFormat(schema: ["type": "integer"]) { JSON($0) }, \.status.code),
    .member("explanation", .text, \.explanation)
  )

  package static var routes: [Route] {
    let all = ProblemKind.allCases.map { ($0.slug, page.encode($0)) }
    let pages = Dictionary(uniqueKeysWithValues: all.map { ($0.0, response($0.1)) })
    let list = response(["items": .array(all.map(\.1))])
    return [
      Route(.get, "/problems", summary: "Lists every kind of error.") { _ in .response(list) }
        .described(described("listProblems", shows: .schema(["items": .arraySchema(of: .reference("ProblemPage"))]))),
      Route(.get, "/problems/{slug}", summary: "Explains an error.") { request in
        let slug = request.parameters["slug"] ?? ""
        guard let page = pages[slug] else {
          throw Problem(.notFound, detail: "There is no problem named “\(slug)”. GET /problems lists them.")
        }
        return .response(page)
      }
      .described(described("getProblem", parameters: [slug], shows: .reference("ProblemPage"), [.notFound])),
    ]
  }

  private static func response(_ json: JSON) -> Response { .json(json, cacheControl: "public, max-age=3600") }

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
      answers: [.shown(schema, fields: [.cacheControl])],
      problems: problems,
      schemas: ["ProblemPage": page.schema]
    )
  }
}
