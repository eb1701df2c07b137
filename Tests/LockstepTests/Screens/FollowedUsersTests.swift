import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepScreens

@Suite("Followed users", .timeLimit(.minutes(10)))
struct FollowedUsersTests {
  private static func user(_ number: UInt64) -> UserID {
    UserID(UUIDv7(milliseconds: 0, random12: 0, random62: number))
  }

  private static func state(_ ids: String...) -> UserState {
    var list = ListState()
    for id in ids { list.apply(.inserted(id: id)) }
    return UserState(CollectionName("favorites"), .list(list))
  }

  @Test("A follower gets only states of its user, from its start on, and only the latest")
  func hears() {
    let followed = FollowedUsers()
    followed.publish(Self.state("a"), of: Self.user(1), RegisteredDefaults())
    let (one, other) = (followed.publications(of: Self.user(1)), followed.publications(of: Self.user(2)))
    #expect(one.value == nil)
    followed.publish(Self.state("b"), of: Self.user(1), RegisteredDefaults())
    followed.publish(Self.state("c"), of: Self.user(1), RegisteredDefaults())
    #expect(one.value?.favorites.items.map(\.id.text) == ["c"])
    #expect(other.value == nil)
  }

  @Test("Registered defaults reach followers, and a user's own values take precedence")
  func registered() {
    let followed = FollowedUsers()
    let (one, other) = (followed.publications(of: Self.user(1)), followed.publications(of: Self.user(2)))
    followed.remember(Self.state("a"), of: Self.user(1))
    let own = UserState(DefaultsAction.collection("standard"), .map(MapState(texts: ["language": #""fr""#])))
    followed.remember(own, of: Self.user(2))
    var registered = RegisteredDefaults()
    registered.apply("language", in: "standard", value: Array(#""de""#.utf8), revision: 1)
    registered.apply("timeZone", in: "standard", value: Array("7".utf8), revision: 2)
    followed.publish(registered)
    #expect(one.value?.language == "de" && one.value?.timeZone == nil)
    #expect(one.value?.favorites.items.map(\.id.text) == ["a"])
    #expect(other.value?.language == "fr")
  }

  @Test("A user who is no longer followed is removed at the next commit, or when many users were added")
  func forgets() {
    let followed = FollowedUsers()
    do {
      let brief = followed.publications(of: Self.user(0))
      #expect(brief.value == nil)
    }
    followed.publish(Self.state("a"), of: Self.user(0), RegisteredDefaults())
    #expect(followed.count == 0)
    let kept = followed.publications(of: Self.user(1_000))
    for number in 1..<500 { _ = followed.publications(of: Self.user(UInt64(number))) }
    #expect(followed.count <= 64)
    followed.publish(Self.state("a"), of: Self.user(1_000), RegisteredDefaults())
    #expect(kept.value != nil)
  }
}
