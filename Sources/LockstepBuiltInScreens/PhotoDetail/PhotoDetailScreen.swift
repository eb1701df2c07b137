import LockstepCollections
import LockstepReactor
import LockstepScreens

extension ScreenDeclaration {
  /// `photoDetail`: one photo, and whether it is a favorite.
  static func photoDetail(
    reactor: @escaping @Sendable (_ photoId: String, ScreenContext, ScreenUser) async -> PhotoDetailReactor
  ) -> ScreenDeclaration {
    user(
      "photoDetail",
      .name("photoId"),
      follows: ["favorites", "defaults/standard"],
      actions: [
        ActionCase("toggleFavorite") { .toggleFavorite }, ActionCase("setActive", .flag("value")) { .setActive($0) },
      ],
      state: PhotoDetailReactor.format
    ) { screen, user, photoId in await reactor(photoId, screen, user) }
  }
}

extension PhotoDetailReactor {
  static let format = ValueFormat<State>(
    .member("photoId", .text, \.photoId),
    .optional("title", .text, \.title),
    .member("isFavorite", .flag, \.isFavorite),
    .optional("dateAdded", .text, \.dateAdded),
    .pulse("error", .message, \.$error)
  )
}
