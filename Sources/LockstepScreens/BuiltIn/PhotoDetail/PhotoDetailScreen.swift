import LockstepCollections
import LockstepReactor

extension ScreenDeclaration {
  /// `photoDetail`: one photo, and whether it is a favorite.
  static func photoDetail(_ dates: any DateTexts) -> ScreenDeclaration {
    user(
      "photoDetail",
      .name("photoId"),
      follows: ["favorites", "defaults/standard"],
      actions: [ActionCase("toggleFavorite") { .toggleFavorite }],
      state: PhotoDetailReactor.format
    ) { _, user, photoId in await PhotoDetailReactor(photoId: photoId, user: user, dates: dates) }
  }
}

extension PhotoDetailReactor {
  static let format = ValueFormat<State>(
    .member("photoId", .text, \.photoId),
    .optional("title", .text, \.title),
    .member("isFavorite", .flag, \.isFavorite),
    .optional("dateAdded", .text, \.dateAdded),
    .optional("error", .text, \.error)
  )
}
