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
  package enum Outcome: Sendable {
    case done
    case noSuchUser
    /// Another user has the address.
    case addressTaken
  }

  /// The user to change, or the id of the user to add.
  package let user: UserID
  package let work: Work

  package init(_ work: Work, _ user: UserID) {
    self.user = user
    self.work = work
  }

  /// Runs the command within the connection's transaction. Returns the outcome and the sessions
  /// that have ended.
  package func run(
    in connection: StoreConnection,
    at now: Timestamp
  ) throws -> (outcome: Outcome, ended: [EndedSession]) {
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
