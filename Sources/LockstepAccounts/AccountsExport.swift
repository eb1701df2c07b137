import LockstepCollections
import LockstepJSON
import LockstepStore

/// An account as JSON, without its secrets.
package enum AccountsExport {
  package static func json(_ account: Account, _ sessions: [Session]) -> JSONObject {
    [
      "user": [
        "id": .string(account.user.id.description),
        "email": .string(account.user.email),
        "createdAt": .string(account.user.createdAt.description),
        "passwordChangedAt": .string(account.passwordChangedAt.description),
      ],
      "sessions": .array(sessions.map { .object(json($0)) }),
    ]
  }

  private static func json(_ session: Session) -> JSONObject {
    var object: JSONObject = [
      "id": .string(session.id.description),
      "device": session.device.map(JSON.string) ?? .null,
      "createdAt": .string(session.createdAt.description),
      "lastSeenAt": .string(session.lastSeenAt.description),
      "expiresAt": .string(session.expiresAt.description),
    ]
    if let cursor = session.cursor { object["cursor"] = .string(cursor) }
    return object
  }
}
