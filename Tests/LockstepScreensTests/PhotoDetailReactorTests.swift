import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepStateTestSupport

@Suite("The photo screen", .timeLimit(.minutes(10)))
struct PhotoDetailReactorTests {
  private static func test(
    _ id: String,
    _ states: StubUserStates,
    languages: [String] = []
  ) async -> TestReactor<PhotoDetailReactor> {
    let screen = ScreenContext(clock: VirtualClock(), languages: languages)
    return TestReactor(
      await PhotoDetailReactor(photoId: id, screen: screen, user: states.user, dates: StubDates())
    )
  }

  @Test("It shows the date in the user's language and time zone, and follows the changes of other devices")
  func follows() async {
    let states = StubUserStates(.favorites("a", "b"))
    let test = await Self.test("b", states)
    var expected = PhotoDetailReactor.State(photoId: "b")
    expected.isFavorite = true
    expected.dateAdded = "2026-11-21T05:06:07.000Z - -"
    #expect(test.state == expected)
    states.announce { snapshot in
      snapshot.language = "de"
      snapshot.timeZone = "Europe/Berlin"
    }
    test.receive { $0.dateAdded = "2026-11-21T05:06:07.000Z de Europe/Berlin" }
    states.announce { $0.favorites.apply(.removed(id: "a")) }
    states.announce { $0.favorites.apply(.removed(id: "b")) }
    test.receive { state in
      state.isFavorite = false
      state.dateAdded = nil
    }
    test.finish()
  }

  @Test("Without a language of the user, the date is in the first language of the client that the server knows")
  func languageOfClient() async {
    let states = StubUserStates(.favorites("a"))
    let test = await Self.test("a", states, languages: ["sv", "fr-CA", "de"])
    #expect(test.state.dateAdded == "2026-11-21T05:06:07.000Z fr-CA -")
    states.announce { $0.language = "de-AT" }
    test.receive { $0.dateAdded = "2026-11-21T05:06:07.000Z de-AT -" }
    test.finish()
  }

  @Test("A toggle is written through the ledger, and adds the photo again with its title")
  func toggles() async {
    var snapshot = UserSnapshot.Contents()
    snapshot.favorites.apply(.inserted(id: "a", title: "Aurora"))
    let states = StubUserStates(snapshot)
    let test = await Self.test("a", states)
    #expect(test.state.title == "Aurora")
    let date = test.state.dateAdded
    test.send(.toggleFavorite) { state in
      state.isFavorite = false
      state.dateAdded = nil
    }
    test.send(.toggleFavorite) { state in
      state.isFavorite = true
      state.dateAdded = date
    }
    #expect(states.changes == [.init(toggled: "a", title: "Aurora"), .init(toggled: "a", title: "Aurora")])
    test.finish()
  }

  @Test("The error of a failed toggle is shown until the next toggle")
  func fails() async {
    let states = StubUserStates()
    let test = await Self.test("a", states)
    #expect(test.state == PhotoDetailReactor.State(photoId: "a"))
    states.fail(with: .refused(.quotaExceeded("There is no room.")))
    test.send(.toggleFavorite) { $0.error = "There is no room." }
    states.fail(with: nil)
    test.send(.toggleFavorite, { $0.error = nil }) { state in
      state.isFavorite = true
      state.dateAdded = "2026-11-21T05:06:07.000Z - -"
    }
    states.fail(with: .sessionEnded)
    test.send(.toggleFavorite) { $0.error = "The session has ended. Log in again." }
    let error = PhotoDetailReactor.format.encode(test.state).objectValue?["error"]
    #expect(error == ["id": 2, "message": "The session has ended. Log in again."])
    test.finish()
  }

  @Test("While inactive, the screen emits nothing and refuses all actions but setActive")
  func active() async {
    let states = StubUserStates(.favorites("a"))
    let test = await Self.test("a", states)
    test.send(.setActive(false))
    states.announce { $0.favorites.apply(.removed(id: "a")) }
    test.send(.toggleFavorite)
    test.receiveFailure("a conflict") { $0 as? Refusal == .inactive }
    test.send(.setActive(true)) { state in
      state.isFavorite = false
      state.dateAdded = nil
    }
    #expect(states.changes == [])
    test.finish()
  }
}
