import LockstepReactor
import WatchingModule

/// The subjects to which the actions dispatch.
public struct WatchingDispatcher: Dispatcher {
  /// Whether the row loads.
  public let loading = DispatchSubject<Bool>()
  /// The videos of the row, newest first.
  public let videos = DispatchSubject<[WatchedVideo]>()
  /// Whether positions wait for the server.
  public let saving = DispatchSubject<Bool>()
  /// The positions that the server has got.
  public let saved = DispatchSubject<SavedPosition>()

  /// A dispatcher. Make one, and pass it to the actions and the stores.
  public init() {}
}

/// A position that the server has got.
public struct SavedPosition: Sendable, Equatable {
  /// The video.
  public let id: String
  /// Whether it is the position of the video now. False if another device has watched the video later.
  public let isNewest: Bool

  /// A position.
  public init(id: String, isNewest: Bool) { (self.id, self.isNewest) = (id, isNewest) }
}

/// The content of the row, for a view.
public final class WatchingStore: FluxStore {
  /// Whether the row loads.
  public let isLoading: BoundValue<Bool>
  /// The videos of the row, newest first.
  public let videos: BoundValue<[WatchedVideo]>
  /// Whether positions wait for the server.
  public let isSaving: BoundValue<Bool>
  /// The positions that the server has got.
  public let saved: BoundEvents<SavedPosition>

  /// A store that shows what is dispatched from now on.
  public init(dispatcher: WatchingDispatcher) {
    isLoading = BoundValue(dispatcher.loading, initial: false)
    videos = BoundValue(dispatcher.videos, initial: [])
    isSaving = BoundValue(dispatcher.saving, initial: false)
    saved = BoundEvents(dispatcher.saved)
  }
}
