import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepScreens
@testable import LockstepStateTestSupport

@Suite("Followed users", .timeLimit(.minutes(10)))
struct FollowedUsersTests {
  private static func user(_ number: UInt64) -> UserID {
    UserID(UUIDv7(milliseconds: 0, random12: 0, random62: number))
  }

  /// The collections that built-in screens follow.
  private static let names = Set([
    CollectionName("favorites"), CollectionName("profile"), Suite.collection("standard"),
  ])

  private static func state(_ ids: String...) -> UserState {
    var list = ListState()
    for id in ids { list.apply(.inserted(id: id)) }
    return UserState(CollectionName("favorites"), .list(list))
  }

  @Test("A follower gets only states of its user, from its start on, and only the latest")
  func hears() {
    let followed = FollowedUsers()
    followed.publish(Self.state("a"), of: Self.user(1), RegisteredDefaults())
    let (one, other) = (
      followed.publications(of: Self.user(1), Self.names), followed.publications(of: Self.user(2), Self.names)
    )
    #expect(one.value == nil)
    followed.publish(Self.state("b"), of: Self.user(1), RegisteredDefaults())
    followed.publish(Self.state("c"), of: Self.user(1), RegisteredDefaults())
    #expect(one.value?.list("favorites").items.map(\.id.text) == ["c"])
    #expect(other.value == nil)
  }

  @Test("Registered defaults reach followers, and a user's own values take precedence")
  func registered() {
    let followed = FollowedUsers()
    let (one, other) = (
      followed.publications(of: Self.user(1), Self.names), followed.publications(of: Self.user(2), Self.names)
    )
    followed.remember(Self.state("a"), of: Self.user(1), RegisteredDefaults())
    let own = UserState(Suite.collection("standard"), .map(MapState(texts: ["language": #""fr""#])))
    followed.remember(own, of: Self.user(2), RegisteredDefaults())
    var registered = RegisteredDefaults()
    registered.apply("language", in: "standard", value: Array(#""de""#.utf8), revision: 1)
    registered.apply("timeZone", in: "standard", value: Array("7".utf8), revision: 2)
    followed.publish(registered)
    #expect(one.value?.userDefault("language") == "de" && one.value?.userDefault("timeZone") == 7)
    #expect(one.value?.list("favorites").items.map(\.id.text) == ["a"])
    #expect(other.value?.userDefault("language") == "fr")
  }

  @Test("A user is removed when the last screen ends, without a commit")
  func forgets() {
    let followed = FollowedUsers()
    var screens: [PublishedStates] = []
    for _ in 0..<2 { screens.append(followed.publications(of: Self.user(1), Self.names)) }
    let other = followed.publications(of: Self.user(2), Self.names)
    followed.remember(Self.state("a"), of: Self.user(1), RegisteredDefaults())
    screens.removeLast()
    #expect(followed.count == 2)
    followed.publish(Self.state("b"), of: Self.user(1), RegisteredDefaults())
    #expect(screens.last?.value?.list("favorites").count == 1)
    screens.removeLast()
    #expect(followed.count == 1)
    followed.publish(Self.state("c"), of: Self.user(2), RegisteredDefaults())
    #expect(other.value?.list("favorites").count == 1)
  }

  @Test("A screen that follows more collections gets them, and the screens before it too")
  func more() {
    let followed = FollowedUsers()
    let favorites = Set([CollectionName("favorites")])
    let one = followed.publications(of: Self.user(1), favorites)
    let suite = Suite.collection("standard")
    var own = UserState(suite, .map(MapState(texts: ["language": #""fr""#])))
    own.revision = 5
    followed.publish(own, of: Self.user(1), RegisteredDefaults())
    #expect(one.value?.names == favorites)
    let other = followed.publications(of: Self.user(1), [suite])
    followed.remember(own, of: Self.user(1), RegisteredDefaults())
    var registered = RegisteredDefaults()
    registered.apply("timeZone", in: "standard", value: Array(#""UTC""#.utf8), revision: 1)
    followed.publish(registered)
    #expect(other.value?.userDefault("language") == "fr" && other.value?.userDefault("timeZone") == "UTC")
    followed.publish(Self.state("b"), of: Self.user(1), registered)
    #expect(one.value?.reduced(to: favorites).list("favorites").items.map(\.id.text) == ["b"])
  }

  @Test("Parts of a state that no screen shows are not kept", arguments: [true, false])
  func keepsOnlyWhatScreensShow(isPublished: Bool) throws {
    let followed = FollowedUsers()
    let published = followed.publications(of: Self.user(1), Self.names)
    weak var shown: PackedLeaf?
    weak var hidden: PackedLeaf?
    do {
      var state = Self.state("a")
      let value = MapMutation.set(key: "k", value: EncodedJSON(1))
      _ = state.reduce([.map(value)], in: Suite.collection("other"), by: .plainMap, revision: 1)
      shown = state.list(CollectionName("favorites")).elements.tree.root?.first
      hidden = state.map(Suite.collection("other")).tree.root?.first
      #expect(shown != nil && hidden != nil)
      if isPublished {
        followed.publish(state, of: Self.user(1), RegisteredDefaults())
      } else {
        followed.remember(state, of: Self.user(1), RegisteredDefaults())
      }
    }
    #expect(shown != nil && hidden == nil)
    withExtendedLifetime(published) {}
  }
}
