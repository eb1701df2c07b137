import Testing

@testable import LockstepCollections
@testable import LockstepStateTestSupport

@Suite("Revisions", .timeLimit(.minutes(10)))
struct RevisionTests {
  private static let era = Era(random: 41)
  private static let other = Era(random: 42)

  @Test("Revisions are ordered by number, and then by era")
  func order() {
    let first = Revision.none.next(in: Self.other)
    let second = first.next(in: Self.era)
    #expect(first.number == 1 && second.number == 2)
    #expect(Revision.none < first && first < second)
    #expect(Revision.none.next(in: Self.era) != first)
    #expect(Revision(number: 1) < first && first < Revision(number: 2))
  }

  @Test("No random number gives the era of histories that are older than eras")
  func eras() {
    for random in [0, 1, 1 << 20 - 2, 1 << 20 - 1, 1 << 20, .max] as [UInt64] {
      #expect(Era(random: random) != .unknown)
      let revision = Revision.none.next(in: Era(random: random))
      #expect(revision.number == 1 && Revision(revision.description) == revision)
    }
  }

  @Test("Each user's history has its own era, which is never that of histories older than eras")
  func erasOfUsers() {
    let users = (1...200).map { SyncFixture.session($0).user }
    #expect(Set(users.map { Self.era.of($0) }).count == 200)
    #expect(!users.contains { Self.era.of($0) == .unknown || Self.other.of($0) == Self.era.of($0) })
    #expect(Era.unknown.of(users[0]) == .unknown)
  }

  @Test(
    "A revision reads back equal, and has only one form",
    arguments: [
      "0", "1", "7-42", "7-1048575", "8796093022207", "8796093022207-1",
    ]
  )
  func text(_ text: String) {
    #expect(Revision(text)?.description == text)
  }

  @Test(
    "Any other text is not a revision",
    arguments: [
      "", "-", "-1", "1-", "1-0", "01", "1-01", "+1", "1-+1", "7-1048576", "8796093022208", "1-2-3", "1-x", "x",
      "99999999999999999999", "1-99999999999999999999",
    ]
  )
  func noText(_ text: String) {
    #expect(Revision(text) == nil)
  }

  @Test("Registered defaults know their own revisions and no others")
  func registered() {
    var registered = RegisteredDefaults()
    #expect(registered.knows(.none))
    var all: [Revision] = [.none]
    for _ in 0..<20 {
      #expect(!registered.knows(Revision(number: all.count, era: Self.era)))
      all.append(all[all.count - 1].next(in: Self.era))
      for key in ["a", "b"] { registered.apply(key, in: "s", value: [0x31], revision: all[all.count - 1]) }
      #expect(all.allSatisfy(registered.knows))
      #expect(!all.dropFirst().contains { registered.knows(Revision(number: $0.number, era: Self.other)) })
    }
  }
}
