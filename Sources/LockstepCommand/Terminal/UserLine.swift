import LockstepCollections
import LockstepComposition
import LockstepMaintenance

enum UserLine {
  /// Columns of fixed width. The e-mail address comes last.
  static func text(_ listing: UserListing) -> String {
    let state = listing.disabledAt == nil ? "enabled " : "disabled"
    let seen = listing.lastSeenAt.map { minute(of: $0) } ?? "never           "
    let sessions = String(listing.sessions)
    let devices = String(repeating: " ", count: max(0, 4 - sessions.count)) + sessions
    return "\(listing.user.id)  \(state)  \(devices) \(listing.sessions == 1 ? "device " : "devices")  "
      + "since \(minute(of: listing.user.createdAt))  seen \(seen)  \(name(of: listing))"
  }

  static func json(_ listing: UserListing) -> String {
    func time(_ moment: Timestamp?) -> JSON { moment.map { .string($0.description) } ?? .null }
    let object: JSONObject = [
      "id": .string(listing.user.id.description), "email": listing.user.email.map(JSON.string) ?? .null,
      "emailVerified": .bool(listing.user.isEmailVerified), "anonymous": .bool(listing.user.isAnonymous),
      "createdAt": time(listing.user.createdAt), "disabledAt": time(listing.disabledAt),
      "sessions": .integer(Int64(listing.sessions)), "lastSeenAt": time(listing.lastSeenAt),
      "identity": listing.identity.map { ["issuer": .string($0.issuer), "subject": .string($0.subject)] } ?? .null,
    ]
    return TerminalJSON.text(JSON.object(object).description)
  }

  private static func name(of listing: UserListing) -> String {
    guard listing.user.email == nil, let identity = listing.identity else { return listing.user.name }
    return "\(Terminal.harmless(identity.subject)) of \(Terminal.harmless(identity.issuer))"
  }

  /// `2026-11-21 05:00`
  private static func minute(of moment: Timestamp) -> String {
    moment.description.prefix(16).map { $0 == "T" ? " " : String($0) }.joined()
  }
}

extension User {
  /// The e-mail address for a terminal, or a remark if there is none.
  var name: String { email.map(Terminal.harmless) ?? (isAnonymous ? "(anonymous)" : "(no address)") }
}
