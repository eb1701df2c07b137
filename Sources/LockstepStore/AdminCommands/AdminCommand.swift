import LockstepCollections
import LockstepSQLite
import LockstepTime

/// What an operator asks for about one user.
public struct AdminCommand: Sendable {
  /// What is to be done.
  public enum Work: Sendable {
    /// Adds a user with this address and password.
    case add(EmailAddress, PasswordHash)
    /// Lets the user in no more, and ends their sessions.
    case disable
    /// Lets the user in again.
    case enable
    /// Gives the user another password, and ends their sessions.
    case resetPassword(PasswordHash)
    /// Deletes the user and everything about them.
    case erase
  }

  /// What became of it.
  public enum Outcome: String, Sendable {
    /// It's done, and on disk.
    case done
    /// There is no such user. Nothing was changed.
    case noSuchUser
    /// The address of who was to be added is somebody's. Nothing was changed.
    case addressTaken
  }

  /// Whom it's about; who is to be added gets this id.
  public let user: UserID
  /// What is to be done.
  public let work: Work

  /// An order of its parts.
  public init(_ work: Work, _ user: UserID) {
    self.user = user
    self.work = work
  }

  /// What is to be done, in a word.
  package var kind: String {
    switch work {
    case .add: "add"
    case .disable: "disable"
    case .enable: "enable"
    case .resetPassword: "resetPassword"
    case .erase: "erase"
    }
  }

  /// Does it, within the transaction that the connection is in.
  ///
  /// - Returns: What became of it, and the sessions that have ended with it.
  package func perform(in connection: SQLiteConnection, at now: Timestamp) throws -> (
    outcome: Outcome, ended: [EndedSession]
  ) {
    let (users, sessions) = (UserRecords(connection: connection), SessionRecords(connection: connection))
    if case .add(let address, let hash) = work { return (try add(address, hash, to: users, at: now), []) }
    guard try users.account(user) != nil else { return (.noSuchUser, []) }
    switch work {
    case .add: return (.addressTaken, [])
    case .enable:
      _ = try users.setDisabled(user, since: nil)
      return (.done, [])
    case .disable:
      _ = try users.setDisabled(user, since: now)
    case .resetPassword(let hash):
      try users.changePassword(of: user, to: hash, at: now)
    case .erase:
      let ended = try sessions.endAll(of: user)
      try users.erase(user)
      return (.done, ended)
    }
    return (.done, try sessions.endAll(of: user))
  }

  private func add(
    _ address: EmailAddress,
    _ hash: PasswordHash,
    to users: UserRecords,
    at now: Timestamp
  ) throws -> Outcome {
    let account = Account(
      user: User(id: user, email: address.text, createdAt: now),
      emailKey: address.key,
      passwordHash: hash,
      passwordVersion: 1,
      passwordChangedAt: now,
      isDisabled: false
    )
    return try users.insert(account) ? .done : .addressTaken
  }
}
