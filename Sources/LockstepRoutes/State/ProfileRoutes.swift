import LockstepHTTP
import LockstepJSON
import LockstepMiddleware
import LockstepModules

/// `/v1/profile`: a map with two fields.
package struct ProfileRoutes: Sendable {
  let module: ProfileModule
  let reading: StateReader
  let writing: StateWriter

  package init(module: ProfileModule, reading: StateReader, writing: StateWriter) {
    self.module = module
    self.reading = reading
    self.writing = writing
  }

  private static let part = "Profile"

  package var routes: [Route] {
    let described = DescribedModule(module: module.userModule)
    return [
      Route(.get, "/v1/profile", summary: "The user's profile.") { request in
        try reading.answer(request) { _, _ throws(Problem) in .profile }
      }
      .described(.reading("getProfile", part: Self.part, shows: described.state, schemas: described.schemas)),
      Route(.patch, "/v1/profile", summary: "Changes fields of the profile, all or none.") { request in
        try writing.answer(request, change: patch)
      }
      .described(
        .writing(
          "patchProfile",
          part: Self.part,
          body: RouteBody(.closedSchema(of: ProfileAction.schemaMembers)),
          answers: [.written(.ok, "The profile after it.", shows: described.state)]
        )
      ),
    ]
  }

  private func patch(_ request: Request, _ body: [UInt8]) throws -> StateWriter.Change {
    _ = try BodyType(of: request.head)
    let json = try JSON(body: body)
    guard let fields = json.objectValue else { throw Problem.notAnObject(json) }
    return StateWriter.Change(
      resource: .profile,
      action: module.action(.save(fields)),
      status: { _ in .ok }
    )
  }
}
