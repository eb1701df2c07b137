import LockstepTime

/// A user's account, as the user sees it.
public struct User: Sendable, Equatable {
  /// The id of the user.
  public let id: UserID
  /// The e-mail address as the client sent it at sign-up.
  public let email: String
  /// The time of the sign-up.
  public let createdAt: Timestamp

  /// Creates a user from its parts.
  public init(id: UserID, email: String, createdAt: Timestamp) {
    self.id = id
    self.email = email
    self.createdAt = createdAt
  }
}
