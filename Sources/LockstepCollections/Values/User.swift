import LockstepTime

/// A user's account, as the user sees it.
public struct User: Sendable, Equatable {
  /// The id of the user.
  public let id: UserID
  /// The e-mail address as the client sent it; nil if the user has none.
  public let email: String?
  /// Whether the address was verified, here or by the system that the user comes from.
  public let isEmailVerified: Bool
  /// Whether the account has no address, no password and no identity. Only the token of a session opens
  /// it.
  public let isAnonymous: Bool
  /// The time of the sign-up.
  public let createdAt: Timestamp

  /// Creates a user from its parts.
  public init(
    id: UserID,
    email: String?,
    isEmailVerified: Bool = false,
    isAnonymous: Bool = false,
    createdAt: Timestamp
  ) {
    self.id = id
    self.email = email
    self.isEmailVerified = isEmailVerified
    self.isAnonymous = isAnonymous
    self.createdAt = createdAt
  }
}
