import LockstepClient
import LockstepJSON
import LockstepReactor
import LockstepTime
import WatchingModule

/// The actions of the row. They and `ErrorAction` are the only code that dispatches.
public struct WatchingActions: Sendable {
  private let client: LockstepClient
  private let list: SyncedList<WatchedVideo>
  private let now: @Sendable () -> Timestamp
  private let dispatcher: WatchingDispatcher
  private let load: ActionCreator<[WatchedVideo]>
  private let save: ActionCreator<SavedPosition>

  /// Actions on a client that was made with `modules: [.watching]`. Errors of loading and of saving go to `errors`.
  /// `now` is the time of this device.
  public init(
    _ client: LockstepClient,
    _ dispatcher: WatchingDispatcher,
    errors: ErrorAction,
    now: @escaping @Sendable () -> Timestamp
  ) {
    (self.client, self.dispatcher, self.now) = (client, dispatcher, now)
    list = client.list("watching", of: WatchedVideo.self)
    load = ActionCreator(loading: dispatcher.loading, models: dispatcher.videos, report: errors.report)
    save = ActionCreator(loading: dispatcher.saving, models: dispatcher.saved, report: errors.report)
  }

  /// Loads the row and then follows it, until the task is cancelled.
  public func follow() async {
    await load.create {
      for await status in client.statuses {
        if status.isReady { return Self.row(list.elements) }
        if status.connection == .offline || status.connection == .needsLogin || status.connection == .failed {
          throw status.failure ?? ClientFailure("There is no connection.", title: "The server cannot be reached")
        }
      }
      throw CancellationError()
    }
    for await update in list.updates { dispatcher.videos.dispatch(Self.row(update.new)) }
  }

  /// Records that this device is at a position. Returns when the server has the position.
  public func watch(_ id: String, at position: Int, isFinished: Bool = false) async {
    let watchedAt = now()
    await save.create {
      let write = try await client.perform { transaction in
        transaction.perform(
          "watch",
          [
            "id": .string(id), "position": JSON(position), "isFinished": .bool(isFinished),
            "watchedAt": .string(watchedAt.description),
          ],
          in: "watching"
        )
      }
      // An older position than the server's causes no mutation.
      let mutations = try await write.confirmed.results.first?["mutations"]?.arrayValue
      return SavedPosition(id: id, isNewest: mutations != [])
    }
  }

  private static func row(_ videos: [WatchedVideo]) -> [WatchedVideo] { videos.filter { !$0.isFinished } }
}
