import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepOpenAPI
import LockstepStore

// The OpenAPI descriptions of sign-up, login, and the first credentials of an anonymous user.

extension AuthenticationRoutes {
  static func signingUp(_ rules: PasswordRules) -> RouteDescription {
    let withPassword = JSON.closedSchema(
      ["email": .emailSchema, "password": .newPasswordSchema(rules)],
      optional: ["device": DeviceName.schema]
    )
    let anonymous = JSON.closedSchema(["anonymous": ["const": true]], optional: ["device": DeviceName.schema])
    return description("signUp", ["anyOf": [withPassword, anonymous]])
  }

  static let loggingIn = description(
    "logIn",
    [
      "anyOf": [
        .closedSchema(["email": .emailSchema, "password": .passwordSchema], optional: ["device": DeviceName.schema]),
        .closedSchema(["idToken": .textSchema], optional: ["device": DeviceName.schema]),
      ]
    ],
    [.unauthorized]
  )

  private static func description(
    _ name: String,
    _ schema: JSON,
    _ problems: Set<ProblemKind> = []
  ) -> RouteDescription {
    let body = RouteBody(schema)
    let fields: [RouteField] = [.cacheControl, .location, .idempotencyReplayed]
    return RouteDescription(
      name,
      part: "Accounts",
      parameters: [.idempotencyKey],
      body: body,
      responses: [RouteResponse(.created, "The new session.", fields: fields, json: .reference("SignedIn"))],
      problems: RouteDescription.bodyProblems(body).union(problems).union([
        .invalidParameter, .conflict, .tooManyRequests, .overloaded,
      ]),
      schemas: ["User": User.format.schema, "SignedIn": Session.signedInFormat.schema]
    )
  }
}

extension RouteDescription {
  static func settingCredentials(_ rules: PasswordRules) -> RouteDescription {
    var description = writing(
      "setCredentials",
      part: "Accounts",
      body: RouteBody([
        "anyOf": [
          .closedSchema(["email": .emailSchema, "password": .newPasswordSchema(rules)]),
          .closedSchema(["idToken": .textSchema]),
        ]
      ]),
      responses: [
        RouteResponse(
          .ok,
          "The account.",
          fields: [.cacheControl, .etag, .idempotencyReplayed],
          json: .reference("User")
        )
      ],
      problems: [.tooManyRequests],
      schemas: ["User": User.format.schema]
    )
    description.problems.remove(.quotaExceeded)
    return description
  }
}

extension JSON {
  package static let emailSchema: JSON = [
    "type": "string", "format": "email", "maxLength": JSON(EmailAddress.maximumBytes),
  ]
}
