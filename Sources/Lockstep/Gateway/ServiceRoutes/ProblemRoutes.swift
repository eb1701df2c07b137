import HTTP
import JSON

/// `GET /problems/<slug>`: every problem's `type` can be fetched and explains itself.
enum ProblemRoutes {
  static var routes: [Route] {
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
      Route(.get, "/problems", summary: "Every kind of error this service answers with.") { _ in .now(list) },
      Route(.get, "/problems/{slug}", summary: "What an error means and what to do.") { request in
        let slug = request.parameters["slug"] ?? ""
        guard let page = pages[slug] else {
          throw Problem(.notFound, detail: "There is no problem named “\(slug)”. GET /problems lists them.")
        }
        return .now(page)
      },
    ]
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
