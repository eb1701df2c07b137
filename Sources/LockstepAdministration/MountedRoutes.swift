import LockstepCollections
import LockstepHTTP
import LockstepOpenAPI
import LockstepRoutes

extension Route {
  /// A route about a user's state or account, for an administrator: `/v1/favorites` becomes
  /// `/v1/admin/users/{user}/favorites`. Its handler must use an `AgentAuthenticator`.
  package var ofUser: Route {
    let path = pattern.hasPrefix("/v1/me/") ? pattern.dropFirst("/v1/me".count) : pattern.dropFirst("/v1".count)
    let route = Route(
      method,
      "\(RouteParameter.userPath)\(path)",
      summary: "For a user: \(summary.prefix(1).lowercased() + summary.dropFirst())",
      bodyLimit: bodyLimit,
      handler: handler
    )
    guard description != nil else { return route }
    let describe = { @Sendable [self] in
      var described = description ?? RouteDescription("", part: "", responses: [])
      described.name += "OfUser"
      described.part = "Administration"
      described.access = .administrator
      described.parameters.insert(.user, at: 0)
      described.problems.formUnion([.forbidden, .notFound, .tooManyRequests])
      return described
    }
    return route.described(describe())
  }
}

extension RouteParameter {
  static let userPath = "/v1/admin/users/{\(AgentAuthenticator.user)}"

  static let user = RouteParameter(
    AgentAuthenticator.user,
    in: .path,
    "The user's id.",
    schema: .uuidSchema,
    sharedName: AgentAuthenticator.user
  )
}
