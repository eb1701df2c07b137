import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("The screen with the list of favorites", .timeLimit(.minutes(10)))
struct FavoritesTopReactorTests {
  @Test("It shows the ids in order, and follows the changes of all devices")
  func follows() {
    let states = StubUserStates(.favorites("a", "b"))
    let test = TestReactor(FavoritesTopReactor(user: states.user))
    #expect(test.state == FavoritesTopReactor.State(favoriteIds: ["a", "b"]))
    states.announce { $0.favorites.apply(.inserted(id: "c", at: 0)) }
    test.receive { $0.favoriteIds = ["c", "a", "b"] }
    states.announce { $0.favorites.apply(.moved(id: "c", to: 2)) }
    test.receive { $0.favoriteIds = ["a", "b", "c"] }
    // A change of another collection does not change the screen.
    states.announce { $0.language = "de" }
    states.announce { $0.favorites.apply(.cleared) }
    test.receive { $0.favoriteIds = [] }
    test.finish()
  }

  @Test("A change between reading the state and starting the screen is not lost")
  func between() {
    let states = StubUserStates(.favorites("a"))
    let reactor = FavoritesTopReactor(user: states.user)
    states.announce { $0.favorites.apply(.cleared) }
    let test = TestReactor(reactor)
    #expect(test.state.favoriteIds == [])
    test.finish()
  }

  @Test("Each tap on a row routes to its photo until the list appears, and a tap on a missing row is refused")
  func routes() {
    let test = TestReactor(FavoritesTopReactor(user: StubUserStates(.favorites("a", "b")).user))
    test.send(.tapFavoritePhoto(row: 1)) { $0.route = .photoDetail(photoId: "b") }
    test.send(.tapFavoritePhoto(row: 1)) { $0.route = .photoDetail(photoId: "b") }
    for row in [2, .max] {
      test.send(.tapFavoritePhoto(row: row))
      test.receiveFailure("no such row") { error in
        error as? Refusal == .invalid("/row", "There is no row \(row). Number of rows: 2.")
      }
    }
    test.send(.viewWillAppear) { $0.route = nil }
    test.send(.viewWillAppear)
    test.send(.tapFavoritePhoto(row: 0)) { $0.route = .photoDetail(photoId: "a") }
    let route = FavoritesTopReactor.format(FavoritesCoordinator()).encode(test.state).objectValue?["route"]
    #expect(
      route == ["id": 3, "name": "photoDetail", "photoId": "a", "href": "/v1/reactors/photoDetail?photoId=a"]
    )
    test.finish()
  }

  @Test("While inactive, the screen emits nothing; on activation, it emits the latest state at once")
  func active() {
    let states = StubUserStates(.favorites("a"))
    let test = TestReactor(FavoritesTopReactor(user: states.user))
    test.send(.setActive(false))
    states.announce { $0.favorites.apply(.inserted(id: "b")) }
    states.announce { $0.favorites.apply(.removed(id: "a")) }
    test.advance(by: .seconds(60))
    test.send(.tapFavoritePhoto(row: 0))
    test.receiveFailure("a conflict") { $0 as? Refusal == .inactive }
    test.send(.setActive(true)) { $0.favoriteIds = ["b"] }
    test.send(.setActive(false))
    test.send(.setActive(true))
    test.finish()
  }
}
