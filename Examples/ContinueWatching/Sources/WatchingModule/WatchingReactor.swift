import LockstepCollections
import LockstepTime

/// The actions that a client can send.
public enum WatchingAction: Sendable {
  /// The device was at a position of a video. Without `watchedAt`, it is there now.
  case watch(id: String, position: Int, isFinished: Bool, watchedAt: Timestamp?)
}

/// Keeps the position of each video, newest first. The device that has watched last wins, in whatever order the
/// server learns of the positions.
public struct WatchingReactor: ModuleReactor {
  /// How many videos a list has at most. A new one replaces the oldest.
  public static let limit = 200

  /// The time of the transaction.
  let now: Timestamp

  /// A reactor at a time.
  public init(now: Timestamp) { self.now = now }

  /// Decides on an action.
  public func mutate(_ action: WatchingAction, in list: ListState) throws(Refusal) -> [ListMutation] {
    switch action {
    case .watch(let id, let position, let isFinished, let watchedAt):
      // A device whose clock is fast must not win against later positions.
      let time = min(watchedAt ?? now, now)
      return record(WatchedVideo(id: id, position: position, isFinished: isFinished, watchedAt: time), in: list)
    }
  }

  private func record(_ video: WatchedVideo, in list: ListState) -> [ListMutation] {
    let old: WatchedVideo? = list.element(video.id)
    // An offline device may send an old position late.
    if let old, old.watchedAt >= video.watchedAt { return [] }
    let others = list.elements(as: WatchedVideo.self).filter { $0.id != video.id }
    let index = others.firstIndex { $0.watchedAt <= video.watchedAt } ?? others.count
    if old != nil {
      return [.replacing(video)] + (list.index(of: video.id) == index ? [] : [.moved(id: video.id, to: index)])
    }
    if let oldest = others.last, others.count >= Self.limit {
      return index == others.count ? [] : [.removed(id: oldest.id), .inserting(video, at: index)]
    }
    return [.inserting(video, at: index)]
  }
}

extension UserModule {
  /// The module `watching`, at `/v1/watching`.
  public static var watching: UserModule {
    .list(
      "watching",
      of: WatchedVideo.self,
      quota: CollectionQuota(elements: WatchingReactor.limit),
      actions: [
        ActionCase(
          "watch",
          .name("id"),
          .whole("position", 0...1_000_000),
          .optionalFlag("isFinished"),
          .optional(.time("watchedAt"))
        ) { .watch(id: $0, position: $1, isFinished: $2 ?? false, watchedAt: $3) }
      ],
      verbs: [.put: "watch"]
    ) { WatchingReactor(now: $0.now) }
  }
}
