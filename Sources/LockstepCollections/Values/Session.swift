import LockstepTime

/// A session, as its user sees it. The token is not part of it.
public struct Session: Sendable, Equatable {
  /// The id of the session.
  public let id: SessionID
  /// The user's name for the device.
  public let device: String?
  /// The time of the login.
  public let createdAt: Timestamp
  /// The time of the token's last use, to the minute.
  public var lastSeenAt: Timestamp
  /// The time at which the token expires. Each use of the token postpones it.
  public var expiresAt: Timestamp
  /// The last cursor that the device sent.
  public var cursor: String?

  /// Creates a session from its parts.
  public init(
    id: SessionID,
    device: String?,
    createdAt: Timestamp,
    lastSeenAt: Timestamp,
    expiresAt: Timestamp,
    cursor: String? = nil
  ) {
    self.id = id
    self.device = device
    self.createdAt = createdAt
    self.lastSeenAt = lastSeenAt
    self.expiresAt = expiresAt
    self.cursor = cursor
  }
}
