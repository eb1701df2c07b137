import Foundation
import LockstepClient

/// The services of the app. A test replaces them here.
public struct AppComponents: Sendable {
  /// The client. It has the copy of the user's state on this device.
  public var client: LockstepClient
  /// Makes the id of a new photo.
  public var newPhotoID: @Sendable () -> Photo.ID

  /// The services of an app with this client.
  public init(
    client: LockstepClient,
    newPhotoID: @escaping @Sendable () -> Photo.ID = { "photo:\(UUID().uuidString.lowercased())" }
  ) {
    (self.client, self.newPhotoID) = (client, newPhotoID)
  }
}
