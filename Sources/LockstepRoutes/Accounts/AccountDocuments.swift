import LockstepAccounts
import LockstepCollections
import LockstepHTTP
import LockstepJSON
import LockstepMaintenance
import LockstepMiddleware
import LockstepStore
import LockstepSync

// The documents of users and sessions. The JSON and the OpenAPI schema of each are made from one
// declaration.

extension User {
  package static let format = ValueFormat<User>(
    .member("id", .uuid) { "\($0.id)" },
    .member("email", .nullableText, \.email),
    .member("emailVerified", .flag, \.isEmailVerified),
    .optional("anonymous", .flag) { $0.isAnonymous ? true : nil },
    .member("createdAt", .time, \.createdAt)
  )
}

extension Session {
  /// A new session, as the response to a sign-up or a login shows it.
  private static let newFormat = ValueFormat<Session>(
    .member("id", .uuid) { "\($0.id)" },
    .member("device", .nullableText, \.device),
    .member("createdAt", .time, \.createdAt)
  )

  package static let format = ValueFormat<(session: Session, isCurrent: Bool)>(
    .member("id", .uuid) { "\($0.session.id)" },
    .member("device", .nullableText) { $0.session.device },
    .member("createdAt", .time) { $0.session.createdAt },
    .member("lastSeenAt", .time) { $0.session.lastSeenAt },
    .optional("cursor", .cursor) { $0.session.cursor },
    .member("current", .flag) { $0.isCurrent }
  )

  /// The response to a sign-up or a login.
  static let signedInFormat = ValueFormat<SignedIn>(
    .member("user", ValueFormat(schema: .reference("User"), encode: User.format.encode), \.user),
    .member("token", .text, \.token.text),
    .member("expiresAt", .time, \.session.expiresAt),
    .member("session", newFormat, \.session)
  )
}

extension ValueFormat<Identity> {
  package static var identity: ValueFormat {
    ValueFormat(.member("issuer", .text, \.issuer), .member("subject", .text, \.subject))
  }
}

extension ValueFormat<String> {
  package static var uuid: ValueFormat { ValueFormat(schema: .uuidSchema) { .string($0) } }
  fileprivate static var cursor: ValueFormat { ValueFormat(schema: .cursorSchema) { .string($0) } }
}

extension ValueFormat<String?> {
  package static var nullableText: ValueFormat {
    ValueFormat(schema: .nullableTextSchema) { $0.map(JSON.string) ?? .null }
  }
}

/// A document for one user only, such as the user's account. Its tag is a hash of its contents.
package struct PrivateDocument: Sendable {
  package let json: JSON
  package let tag: String

  /// The tag does not depend on the members in `ignored`, because they change without a write.
  /// It also depends on `hidden`, which the document does not show.
  package init(_ json: JSON, passingOver ignored: Set<ExactText> = [], hidden: Int = 0) {
    self.json = json
    var counted = json.objectValue ?? JSONObject()
    counted.removeAll { name, _ in ignored.contains(name.exact) }
    tag = Digest.text(of: JSON.object(counted).encoded() + (hidden == 0 ? [] : Array("\(hidden)".utf8)))
  }

  package init(_ session: Session, isCurrent: Bool) {
    self.init(Session.format.encode((session, isCurrent)), passingOver: ["lastSeenAt", "cursor"])
  }

  package func response(_ preconditions: Preconditions) throws(Problem) -> Response {
    try .document(tag, preconditions, current: json) { .bytes(json.encoded()) }
  }

  /// Throws `AccountsError.changed` if the preconditions of a write do not hold.
  package func check(_ preconditions: Preconditions, orStateAt state: Cursor? = nil) throws(AccountsError) {
    guard !preconditions.allowsWrite(to: tag, orStateAt: state) else { return }
    throw .changed(current: json, tag: tag)
  }
}

extension Response {
  /// A document for one user only, or 304. Throws 412 with `current`, if there is one.
  fileprivate static func document(
    _ tag: String,
    _ preconditions: Preconditions,
    current: JSON? = nil,
    position: StatePosition? = nil,
    body: () -> Response.Body
  ) throws(Problem) -> Response {
    try preconditions.checkRead(of: tag, current: current)
    var fields = HeaderFields([.etag: "\"\(tag)\"", .cacheControl: "private, no-cache", .vary: "Authorization"])
    if let position { fields.append(position) }
    if preconditions.isFresh(tag) { return Response(status: .notModified, fields: fields) }
    fields.append(.contentType, "application/json")
    return Response(status: .ok, fields: fields, body: body())
  }
}

extension UserExport {
  package func response(of user: UserID, from network: Int?, _ preconditions: Preconditions) async throws -> Response {
    guard let contents = try await contents(of: user, from: network) else { throw Problem.unauthorized(true) }
    return try .document(contents.tag, preconditions, position: contents.position) {
      .stream(holding: contents.cost) { try await write(contents, of: user, from: network, to: $0) }
    }
  }
}
