import LockstepClient
import LockstepClientUI
import Observation

/// The state and the actions of the app. The views and the program for the terminal use them.
///
/// When one of the functions returns, the change is shown, and is on disk. It reaches the server when there is a
/// connection.
@MainActor
@Observable
public final class FavoritesModel {
  /// The client. `AppCoordinator` runs it.
  @ObservationIgnored public let client: LockstepClient
  /// The settings.
  @ObservationIgnored public let settings: SyncedMap
  /// The favorites in their order.
  public let photos: ListModel<Photo>
  /// How the app looks.
  public let theme: ValueModel<Theme>
  private let status: StatusModel
  private let newPhotoID: @Sendable () -> Photo.ID

  init(_ client: LockstepClient, newPhotoID: @escaping @Sendable () -> Photo.ID) {
    (self.client, self.newPhotoID) = (client, newPhotoID)
    settings = client.defaults()
    photos = ListModel(client.list(of: Photo.self))
    theme = ValueModel("theme", in: settings, default: .system)
    status = StatusModel(client)
  }

  /// The text above the list; nil for none.
  public var banner: Banner? { Banner(status.status) }

  // MARK: - Favorites

  /// Adds a photo at the end.
  public func add(_ photo: Photo) async throws { try await photos.list.add(photo) }

  /// Adds a new photo at the end.
  public func add(titled title: String) async throws { try await add(Photo(id: newPhotoID(), title: title)) }

  /// Gives a photo another title. Other members stay, such as those of a newer version of the app.
  public func rename(_ id: Photo.ID, to title: String) async throws {
    try await photos.list.update(id, with: ["title": title])
  }

  /// Moves a photo. `index` is its index after the move.
  public func move(_ id: Photo.ID, to index: Int) async throws { try await photos.list.move(id, to: index) }

  /// Removes photos with their counters: all of that, or nothing.
  public func delete(_ ids: [Photo.ID]) async throws {
    if ids.isEmpty { return }
    try await client.perform { transaction in
      for id in ids {
        transaction.remove(id, in: photos.list)
        if settings.keys.contains(Photo.counter(of: id)) { transaction.remove(Photo.counter(of: id), in: settings) }
      }
    }
  }

  /// Counts that the user has opened a photo. Two devices can count at the same time, and none is lost.
  public func open(_ id: Photo.ID) async throws { try await settings.increment(Photo.counter(of: id)) }

  /// How often the user has opened a photo, on all devices.
  public func openings(of id: Photo.ID) -> Int { settings.value(Photo.counter(of: id)) ?? 0 }

  // MARK: - Settings

  /// Changes how the app looks. A view can also set `theme.value`, which does not wait for the disk.
  public func choose(_ theme: Theme) async throws { try await settings.set("theme", theme) }
}
