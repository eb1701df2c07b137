import LockstepCollections
import LockstepTime

/// A change to one user's account that an operator asks for.
package struct AdminCommand: Sendable {
  package enum Work: Sendable {
    case add(EmailAddress, PasswordHash)
    /// Refuses logins and ends all sessions.
    case disable
    case enable
    /// Sets another e-mail address. The sessions stay.
    case changeEmail(EmailAddress)
    /// Sets another password and ends all sessions.
    case resetPassword(PasswordHash)
    /// Deletes the user and all data.
    case erase
  }

  /// If the outcome is not `done`, nothing was changed.
  package enum Outcome: String, Sendable {
    case done
    case noSuchUser
    /// Another user has the address.
    case addressTaken
  }

  /// The user to change, or the id of the user to add.
  package let user: UserID
  package let work: Work
  /// The fewest characters that the rules for the new password allow. Nil: those of the running server.
  package let shortestPassword: Int?

  package init(_ work: Work, _ user: UserID, shortestPassword: Int? = nil) {
    self.user = user
    self.work = work
    self.shortestPassword = shortestPassword
  }

  /// The work in one word, as in the table and in the log.
  package var kind: String { columns.kind }

  var columns: (kind: String, email: EmailAddress?, hash: PasswordHash?) {
    switch work {
    case .add(let email, let hash): ("add", email, hash)
    case .disable: ("disable", nil, nil)
    case .enable: ("enable", nil, nil)
    case .changeEmail(let email): ("changeEmail", email, nil)
    case .resetPassword(let hash): ("resetPassword", nil, hash)
    case .erase: ("erase", nil, nil)
    }
  }

  /// Runs the command within the connection's transaction. Returns the outcome and the sessions
  /// that have ended.
  package func run(
    in connection: StoreConnection,
    at now: Timestamp
  ) throws -> (outcome: Outcome, ended: [EndedSession]) {
    if let shortestPassword { try ShortestPassword(connection: connection).lower(to: shortestPassword) }
    let users = UserRecords(connection: connection)
    if case .add(let address, let hash) = work {
      return (try users.insert(Account(user, address, hash, at: now)) ? .done : .addressTaken, [])
    }
    guard try connection.lock(user) else { return (.noSuchUser, []) }
    switch work {
    case .enable:
      _ = try users.setDisabled(user, since: nil)
      return (.done, [])
    case .changeEmail(let address):
      return (try users.changeEmail(of: user, to: address) ? .done : .addressTaken, [])
    default: break
    }
    // Ends the sessions first, because erasing a user deletes them too.
    let ended = try SessionRecords(connection: connection).endAll(of: user, at: now)
    switch work {
    case .disable: _ = try users.setDisabled(user, since: now)
    case .resetPassword(let hash): try users.changePassword(of: user, to: hash, at: now)
    case .erase: try users.erase(user, at: now)
    case .add, .enable, .changeEmail: break
    }
    return (.done, ended)
  }
}
