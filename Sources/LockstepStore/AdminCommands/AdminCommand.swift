import LockstepCollections
import LockstepSQLite
import LockstepTime

/// A change to one user's account that an operator asks for.
package struct AdminCommand: Sendable {
  package enum Work: Sendable {
    case add(EmailAddress, PasswordHash)
    /// Refuses log-ins and ends all sessions.
    case disable
    case enable
    /// Sets another password and ends all sessions.
    case resetPassword(PasswordHash)
    /// Deletes the user and all data.
    case erase
  }

  /// If the outcome is not `done`, nothing was changed.
  package enum Outcome: String, Sendable {
    case done
    case noSuchUser
    /// Another user has the address of the user to add.
    case addressTaken
  }

  /// The user to change, or the id of the user to add.
  package let user: UserID
  package let work: Work

  package init(_ work: Work, _ user: UserID) {
    self.user = user
    self.work = work
  }

  /// The work in one word, as in the table and in the log.
  package var kind: String {
    switch work {
    case .add: "add"
    case .disable: "disable"
    case .enable: "enable"
    case .resetPassword: "resetPassword"
    case .erase: "erase"
    }
  }

  /// Runs the command within the connection's transaction. Returns the outcome and the sessions that have ended.
  package func run(in connection: SQLiteConnection, at now: Timestamp) throws -> (
    outcome: Outcome, ended: [EndedSession]
  ) {
    let users = UserRecords(connection: connection)
    if case .add(let address, let hash) = work {
      return (try users.insert(Account(user, address, hash, at: now)) ? .done : .addressTaken, [])
    }
    guard try users.account(user) != nil else { return (.noSuchUser, []) }
    if case .enable = work {
      _ = try users.setDisabled(user, since: nil)
      return (.done, [])
    }
    // First, because erasing a user deletes the sessions too.
    let ended = try SessionRecords(connection: connection).endAll(of: user)
    switch work {
    case .disable: _ = try users.setDisabled(user, since: now)
    case .resetPassword(let hash): try users.changePassword(of: user, to: hash, at: now)
    case .erase: try users.erase(user)
    case .add, .enable: break
    }
    return (.done, ended)
  }
}
