import LockstepClient
import LockstepJSON

/// The problem documents of the servers in memory, as a real server sends them.
enum FakeProblem {
  /// The kinds of problems. Their names and texts are those of the server.
  enum Kind: String {
    case malformedJSON = "malformed-json"
    case unauthorized
    case forbidden
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case conflict
    case preconditionFailed = "precondition-failed"
    case validationFailed = "validation-failed"
    case `internal`
    case quotaExceeded = "quota-exceeded"

    var status: Int { summary.status }
    var title: String { summary.title }

    private var summary: (status: Int, title: String) {
      switch self {
      case .malformedJSON: (400, "The app sent something that the server cannot read")
      case .unauthorized: (401, "You are not logged in")
      case .forbidden: (403, "You are not allowed to do this")
      case .notFound: (404, "This could not be found")
      case .methodNotAllowed: (405, "This is not possible here")
      case .conflict: (409, "This conflicts with what is already there")
      case .preconditionFailed: (412, "This has changed in the meantime")
      case .validationFailed: (422, "Some of the input is not valid")
      case .internal: (500, "Something went wrong on the server")
      case .quotaExceeded: (507, "There is no room for more")
      }
    }
  }

  static let invalidToken = response(
    .unauthorized,
    "The token is invalid or has expired. POST /v1/sessions gives a new one."
  )

  static func response(_ kind: Kind, _ detail: String, _ members: JSONObject = [:]) -> ClientResponse {
    var document: JSONObject = [
      "type": .string("/problems/\(kind.rawValue)"), "title": .string(kind.title), "status": JSON(kind.status),
      "detail": .string(detail),
    ]
    for (name, value) in members { document[name] = value }
    return ClientResponse(
      status: kind.status,
      fields: ["Content-Type": "application/problem+json"],
      body: JSON.object(document).encoded()
    )
  }

  /// The problem of a body with faults. `failed` is the index of the action that has them.
  static func invalid(_ faults: [(pointer: String, detail: String)], failed: Int? = nil) -> ClientResponse {
    var members: JSONObject = [
      "errors": .array(faults.map { ["pointer": .string($0.pointer), "detail": .string($0.detail)] })
    ]
    if let failed { members["failed"] = JSON(failed) }
    return response(
      .validationFailed,
      "The body is JSON, but this resource does not accept it. `errors` lists every fault with a JSON Pointer to its "
        + "place. Nothing was changed.",
      members
    )
  }

  /// The problem of an action whose `ifMatch` does not hold.
  static func changed(_ current: JSON, cursor: String, revision: Int, failed: Int) -> ClientResponse {
    var problem = response(
      .preconditionFailed,
      "The resource of action \(failed), counted from 0, has changed since the cursor in its `ifMatch`. `current` is "
        + "the resource now, or null if it does not exist, and `cursor` is its ETag. Nothing was changed.",
      ["current": current, "cursor": .string(cursor), "failed": JSON(failed)]
    )
    problem.fields["revision"] = "\(revision)"
    return problem
  }
}
