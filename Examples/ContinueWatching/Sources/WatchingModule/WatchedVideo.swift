import LockstepTime

/// How far the user has watched a video.
public struct WatchedVideo: Codable, Identifiable, Equatable, Sendable {
  /// The video.
  public let id: String
  /// The position in seconds.
  public let position: Int
  /// Whether the user has watched the video to its end, or has removed it from the row.
  public let isFinished: Bool
  /// The time at which a device was at the position. It may be long before the server learns of it.
  public let watchedAt: Timestamp

  /// A video with its position.
  public init(id: String, position: Int, isFinished: Bool = false, watchedAt: Timestamp) {
    (self.id, self.position, self.isFinished, self.watchedAt) = (id, position, isFinished, watchedAt)
  }
}
