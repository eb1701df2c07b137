import LockstepCollections
import LockstepReactor
import LockstepScreens

/// The routes of the screens that list photos.
enum PhotoRoute: Sendable, Equatable {
  case photoDetail(photoId: String)
}

extension ScreenLink {
  /// The link to a photo. All coordinators whose screens lead to photos present it.
  static func photoDetail(_ photoId: String) -> ScreenLink { ScreenLink("photoDetail", ["photoId": photoId]) }
}

extension ValueFormat<PhotoRoute> {
  /// A route with the link that a coordinator returns for it.
  static func photoRoute<C: Coordinator>(_ coordinator: C) -> ValueFormat
  where C.Route == PhotoRoute, C.Next == ScreenLink {
    ValueFormat(
      .member("name", .text) { _ in "photoDetail" },
      .member("photoId", .text) { route in
        switch route {
        case .photoDetail(let photoId): photoId
        }
      },
      .optional("href", .text) { coordinator.next(for: $0)?.href }
    )
  }
}

extension Refusal {
  /// The refusal of a tap on a row that a list does not have.
  static func noRow(_ row: Int, of count: Int) -> Refusal {
    .invalid("/row", "There is no row \(row). Number of rows: \(count).")
  }
}
