import LockstepCollections
import Testing

@testable import LockstepStateTestSupport

struct Song: Codable, Identifiable, Equatable, Sendable {
  let id: String
  var title: String
}

struct Playlist: ListModule {
  static let name = "playlist"

  func decide(_ mutation: List<Song>.Mutation, _ list: List<Song>) throws(Refusal) -> [List<Song>.Mutation] {
    if case .remove = mutation, list.count == 1 { throw .conflict("The last song stays.") }
    return [mutation]
  }
}

@Suite("The module in docs/own-data.md", .timeLimit(.minutes(10)))
struct OwnDataGuideTests {
  @Test("The last song stays on the list")
  func lastSong() throws {
    var list = List([Song(id: "a", title: "Aurora"), Song(id: "b", title: "Geyser")])
    #expect(try Playlist().perform(.remove(id: "a"), on: &list) == [.remove(id: "a")])
    #expect(throws: Refusal.conflict("The last song stays.")) { try Playlist().decide(.remove(id: "b"), list) }
  }
}
