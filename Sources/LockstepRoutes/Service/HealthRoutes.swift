import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMiddleware

/// `GET /healthz` and `GET /readyz`, for supervisors and load balancers.
package struct HealthRoutes: Sendable {
  private let readiness: Readiness

  package init(readiness: Readiness) {
    self.readiness = readiness
  }

  package var routes: [Route] {
    let healthy = Response.json(["status": "ok"], cacheControl: "no-store")
    return [
      Route(.get, "/healthz", summary: "200 as long as the process serves.") { _ in .response(healthy) }
        .described(Self.described("getHealth", saying: "ok")),
      Route(.get, "/readyz", summary: "200 if the store can be written; 503 otherwise and while draining.") { _ in
        try await readiness.check()
        return .json(["status": "ready"], cacheControl: "no-store")
      }
      .described(Self.described("getReadiness", saying: "ready", [.overloaded])),
    ]
  }

  private static func described(
    _ name: String,
    saying status: String,
    _ problems: Set<ProblemKind> = []
  ) -> RouteDescription {
    RouteDescription(
      name,
      part: "Service",
      answers: [.shown(.schema(["status": ["const": .string(status)]]), fields: [.cacheControl])],
      problems: problems
    )
  }
}
