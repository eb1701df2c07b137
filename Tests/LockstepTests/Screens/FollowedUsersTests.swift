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

  @Test("A user is removed when the last screen ends, without a commit")
  func forgets() {
    let followed = FollowedUsers()
    var screens: [PublishedStates] = []
    for _ in 0..<2 { screens.append(followed.publications(of: Self.user(1))) }
    let other = followed.publications(of: Self.user(2))
    followed.remember(Self.state("a"), of: Self.user(1))
    screens.removeLast()
    #expect(followed.count == 2)
    followed.publish(Self.state("b"), of: Self.user(1), RegisteredDefaults())
    #expect(screens.last?.value?.favorites.count == 1)
    screens.removeLast()
    #expect(followed.count == 1)
    followed.publish(Self.state("c"), of: Self.user(2), RegisteredDefaults())
    #expect(other.value?.favorites.count == 1)
  }

  @Test("Parts of a state that no screen shows are not kept", arguments: [true, false])
  func keepsOnlyWhatScreensShow(isPublished: Bool) throws {
    let followed = FollowedUsers()
    let published = followed.publications(of: Self.user(1))
    weak var shown: PackedLeaf?
    weak var hidden: PackedLeaf?
    do {
      var state = Self.state("a")
      let value = MapMutation.set(key: "k", value: EncodedJSON(1))
      _ = state.reduce([.map(value)], in: DefaultsAction.collection("other"), by: .plainMap, revision: 1)
      shown = state.list(CollectionName("favorites")).elements.tree.root?.first
      hidden = state.map(DefaultsAction.collection("other")).tree.root?.first
      #expect(shown != nil && hidden != nil)
      if isPublished {
        followed.publish(state, of: Self.user(1), RegisteredDefaults())
      } else {
        followed.remember(state, of: Self.user(1))
      }
    }
    #expect(shown != nil && hidden == nil)
    withExtendedLifetime(published) {}
  }
}
