import LockstepCollections
import LockstepHTTP
import LockstepMaintenance
import LockstepMiddleware

extension UserExport {
  /// The document, or that the client has it already.
  func response(of user: UserID, _ preconditions: Preconditions) async throws -> Response {
    guard let contents = try await contents(of: user) else { throw Problem.unauthorized(true) }
    var fields = HeaderFields.ofPrivateDocument(tag: contents.tag)
    fields.append(.cursor, contents.cursor)
    if preconditions.isFresh(contents.tag) { return Response(status: .notModified, fields: fields) }
    fields.append(.contentType, "application/json")
    return Response(status: .ok, fields: fields, body: .stream { try await write(contents, of: user, to: $0) })
  }
}
