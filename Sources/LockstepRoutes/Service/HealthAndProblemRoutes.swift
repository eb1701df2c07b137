import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepOpenAPI

/// `GET /healthz` and `GET /readyz`, for supervisors and load balancers.
package struct HealthRoutes: Sendable {
  private let readiness: Readiness

  package init(readiness: Readiness) {
    self.readiness = readiness
  }

  package var routes: [Route] {
    let healthy = Response.json(["status": "ok"], cacheControl: "no-store")
    let validity = PermanentValidity()
    return [
      Route(.get, "/healthz", summary: "200 as long as the process serves requests.") { request in
        request.isRepetition ? .reusable(healthy, validity) : .response(healthy)
      }
      .described(.service("getHealth", shows: .schema(["status": ["const": "ok"]]))),
      Route(.get, "/readyz", summary: "200 if the store can be written; 503 if it cannot, or during a shutdown.") { _ in
        try await readiness.check()
        return .json(["status": "ready"], cacheControl: "no-store")
      }
      .described(.service("getReadiness", shows: .schema(["status": ["const": "ready"]]), [.overloaded])),
    ]
  }
}

/// `GET /problems` and `GET /problems/<slug>`: the pages that the `type` of a problem refers to.
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
    let schemas = ["ProblemPage": page.schema]
    let items = JSON.arraySchema(of: .reference("ProblemPage"))
    let slug = RouteParameter(
      "slug",
      in: .path,
      "The last part of a problem's `type`.",
      schema: ["type": "string", "enum": .array(all.map { .string($0.0) })]
    )
    return [
      Route(.get, "/problems", summary: "Lists all kinds of problem.") { _ in .response(list) }
        .described(.service("listProblems", shows: .schema(["items": items]), schemas: schemas)),
      Route(.get, "/problems/{slug}", summary: "Explains a kind of problem.") { request in
        let slug = request.parameters["slug"] ?? ""
        guard let page = pages[slug] else {
          throw Problem(.notFound, detail: "There is no kind of problem “\(slug)”. GET /problems lists all kinds.")
        }
        return .response(page)
      }
      .described(
        .service("getProblem", [slug], shows: .reference("ProblemPage"), [.notFound], schemas: schemas)
      ),
    ]
  }

  private static func response(_ json: JSON) -> Response { .json(json, cacheControl: "public, max-age=3600") }
}

extension RouteDescription {
  fileprivate static func service(
    _ name: String,
    _ parameters: [RouteParameter] = [],
    shows schema: JSON,
    _ problems: Set<ProblemKind> = [],
    schemas: [String: JSON] = [:]
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: "Service",
      parameters: parameters,
      responses: [.shown(schema, fields: [.cacheControl])],
      problems: problems,
      schemas: schemas
    )
  }
}
