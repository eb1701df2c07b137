import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepScreens

@Suite("Whose state is followed", .timeLimit(.minutes(10)))
struct FollowedUsersTests {
  private static func user(_ number: UInt64) -> UserID {
    UserID(UUIDv7(milliseconds: 0, random12: 0, random62: number))
  }

  private static func state(_ ids: String...) -> UserState {
    var list = ListState()
    for id in ids { list.apply(.inserted(id: id)) }
    return UserState(CollectionName("favorites"), .list(list))
  }

  @Test("Each hears of one user alone, from the moment on at which they begin, and of the latest")
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

  @Test("What is registered for all reaches who follows, behind what they have set themselves")
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

  @Test("Who isn't followed any more is forgotten, at the next commit or when many have come")
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
