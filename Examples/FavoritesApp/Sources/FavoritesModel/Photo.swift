import LockstepClient

/// A photo that the user has added to the favorites.
public struct Photo: Codable, Identifiable, Equatable, Sendable {
  /// The id, which the app has chosen.
  public let id: String
  /// The title. Other clients of the server may add a favorite without one.
  public var title: String?

  /// A photo.
  public init(id: String, title: String? = nil) { (self.id, self.title) = (id, title) }

  /// The title, or the id if there is none.
  public var name: String { title ?? id }

  /// The key of the user defaults that counts how often the user has opened the photo.
  public static func counter(of id: ID) -> String { "opened.\(id)" }
}

/// How the app looks, on all devices of the user.
public enum Theme: String, Codable, CaseIterable, Sendable {
  case system
  case light
  case dark
}
