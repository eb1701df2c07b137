import LockstepTime

/// A device that is logged in, as its user is told about it. The token isn't part of it.
public struct Session: Sendable, Equatable {
  /// Which session it is.
  public let id: SessionID
  /// What the user calls the device.
  public let device: String?
  /// When it logged in.
  public let createdAt: Timestamp
  /// When its token was last used, to the minute.
  public var lastSeenAt: Timestamp
  /// When its token ends, unless it's used before.
  public var expiresAt: Timestamp
  /// The last cursor that the device asked from.
  public var cursor: String?

  /// A session of its parts.
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
