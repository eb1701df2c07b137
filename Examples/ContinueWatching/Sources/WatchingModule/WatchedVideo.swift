import LockstepCollections
import LockstepJSON
import LockstepTime

/// How far the user has watched a video.
public struct WatchedVideo: ListElement, Codable, Equatable {
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

  /// The element as clients get it.
  public static let format = ValueFormat<WatchedVideo>(
    .member("id", .text, \.id),
    .member("position", .count, \.position),
    .member("isFinished", .flag, \.isFinished),
    .member("watchedAt", .time, \.watchedAt)
  )

  /// Reads an element in that format.
  public init?(_ object: JSONObject) {
    guard let id = object["id"]?.stringValue, let position = object["position"]?.intValue,
      let isFinished = object["isFinished"]?.boolValue,
      let watchedAt = object["watchedAt"]?.stringValue.flatMap({ Timestamp($0) })
    else { return nil }
    self.init(id: id, position: position, isFinished: isFinished, watchedAt: watchedAt)
  }
}
