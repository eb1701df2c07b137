import LockstepTime

/// A user, as they are told about themselves.
public struct User: Sendable, Equatable {
  /// Who it is.
  public let id: UserID
  /// The address, as it was given when they signed up.
  public let email: String
  /// When they signed up.
  public let createdAt: Timestamp

  /// A user of their parts.
  public init(id: UserID, email: String, createdAt: Timestamp) {
    self.id = id
    self.email = email
    self.createdAt = createdAt
  }
}
