import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepStateTestSupport

@Suite("The screen with the latest favorites", .timeLimit(.minutes(10)))
struct RecentFavoritesReactorTests {
  /// A user with favorites `1`, `2` and so on, each added by a transaction of its own.
  private static func user(_ count: Int) throws -> InMemoryUser {
    let ada = InMemoryUser()
    for id in 1...count { try ada.change("favorites", "add", ["id": .string("\(id)")]) }
    return ada
  }

  @Test("It shows the favorites that were added or changed last, the latest first, and at most 20")
  func order() throws {
    let ada = try Self.user(25)
    let test = TestReactor(RecentFavoritesReactor(user: ada.screenUser))
    let latest = (6...25).reversed().map { "\($0)" }
    #expect(test.state.photos.map(\.id) == latest)
    try ada.change("favorites", "update", ["id": "1", "title": "Aurora"])
    test.receive { $0.photos = [.init(id: "1", title: "Aurora")] + $0.photos.dropLast() }
    // The order that the user chose does not matter here.
    try ada.change("favorites", "remove", ["id": "25"])
    test.receive { $0.photos = $0.photos.filter { $0.id != "25" } + [.init(id: "6", title: nil)] }
    test.finish()
  }

  @Test("A tap leads to the photo, a missing row is refused, and an inactive screen refuses taps")
  func taps() throws {
    let test = TestReactor(RecentFavoritesReactor(user: try Self.user(2).screenUser))
    for id in 1...2 {
      test.send(.tapPhoto(row: 1)) { $0.route = .photoDetail(photoId: "1") }
      let format = RecentFavoritesReactor.format(RecentFavoritesCoordinator())
      #expect(format.encode(test.state).objectValue?["route"]?["id"]?.intValue == id)
    }
    test.send(.tapPhoto(row: 2))
    test.receiveFailure("no such row") { $0 as? Refusal == .noRow(2, of: 2) }
    test.send(.viewWillAppear) { $0.route = nil }
    test.send(.setActive(false))
    test.send(.tapPhoto(row: 0))
    test.receiveFailure("a conflict") { $0 as? Refusal == .inactive }
    test.finish()
  }
}
