import LockstepJSON
import LockstepTestSupport
import Testing

@testable import LockstepCollections
@testable import LockstepModules
@testable import LockstepStateTestSupport
@testable import LockstepSync

@Suite("A state in memory: recent past states, documents and representations", .timeLimit(.minutes(10)))
struct CachedStateTests {
  private static let standard = Suite.collection("standard")
  private static let other = Suite.collection("other")

  private static let set = [CollectionMutation.map(.set(key: "a", value: EncodedJSON(1)))]

  /// A state after one change.
  private static var first: UserState {
    var state = UserState()
    _ = state.reduce(set, in: standard, by: .plainMap, revision: 1)
    return state
  }

  /// Makes consecutive states. Each one replaces a value of this many bytes.
  private func successive(_ count: Int, valueBytes: Int, keys: Int = 1) -> CachedState {
    var state = UserState()
    var cached = CachedState(state, after: nil)
    for number in 1...count {
      let fact = MapMutation.set(
        key: "\(number % keys)",
        value: EncodedJSON(.null, encoded: [UInt8](repeating: UInt8(number % 256), count: valueBytes))
      )
      state.revision = Revision(number: number)
      _ = state.reduce([.map(fact)], in: Self.standard, by: .plainMap, revision: state.revision)
      cached = CachedState(state, after: cached)
    }
    return cached
  }

  @Test("The most recent past states are kept within limits, and their cost is counted")
  func recent() throws {
    for count in 1...70 {
      let small = successive(count, valueBytes: 10)
      let kept = (0..<count).filter { small.past(at: Revision(number: $0)) != nil }
      #expect((min(count, 16)...32).contains(kept.count) && kept.last == count - 1 && kept.first == count - kept.count)
      #expect(small.past(at: Revision(number: count))?.revision.number == count)
      #expect(small.past(at: Revision(number: count + 1)) == nil)
      let value = small.past(at: Revision(number: count - 1))?.map(Self.standard)["0"]?.encoded
      #expect(value == (count == 1 ? nil : Array(repeating: UInt8(count - 1), count: 10)))
      #expect(small.cost >= small.state.cost + kept.count * 256)
    }
    // Only the past states hold the replaced values.
    let large = successive(50, valueBytes: 50_000)
    let kept = (0..<50).count { large.past(at: Revision(number: $0)) != nil }
    #expect((1...6).contains(kept))
    #expect(large.cost >= large.state.cost + kept * 50_000)
    #expect(large.past(at: 49) != nil)
    // The last past state is kept and counted, whatever its size.
    let huge = successive(3, valueBytes: 1_000_000)
    #expect(huge.past(at: 2) != nil && huge.past(at: 1) == nil)
    #expect(huge.cost > huge.state.cost + 1_000_000)
    // Past states with many elements share most of them.
    let many = successive(2_000, valueBytes: 10, keys: 1_000)
    #expect((16...32).contains((0..<2_000).count { many.past(at: Revision(number: $0)) != nil }))
    #expect(many.cost < 6 * many.state.cost)
  }

  /// The state at revision 1, with one value of this many bytes in each of `suites` suites.
  private func state(_ suites: Int, valueBytes: Int) -> UserState {
    var state = UserState()
    state.revision = 1
    let value = EncodedJSON(.string(String(repeating: "v", count: valueBytes)))
    for suite in 0..<suites {
      let name = Suite.collection("\(suite)")
      _ = state.reduce([.map(.set(key: "a", value: value))], in: name, by: .plainMap, revision: 1)
    }
    return state
  }

  @Test("A past state that was read from the store again counts in full, because it shares no memory")
  func reloaded() {
    let first = state(10, valueBytes: 5_000)
    var second = first
    second.revision = 2
    _ = second.reduce(Self.set, in: Suite.collection("0"), by: .plainMap, revision: 2)
    let present = CachedState(second, after: nil).cost
    let sharing = CachedState(second, after: CachedState(first, after: nil)).cost - present
    let reloaded = CachedState(second, after: CachedState(state(10, valueBytes: 5_000), after: nil)).cost - present
    #expect((5_000..<10_000).contains(sharing) && reloaded >= 50_000)
  }

  @Test("A past state counts its dictionary, even if it shares all other memory")
  func dictionary() {
    let first = state(500, valueBytes: 1)
    var second = first
    second.revision = 2
    _ = second.reduce(Self.set, in: Suite.collection("0"), by: .plainMap, revision: 2)
    let cost = CachedState(second, after: CachedState(first, after: nil)).cost - CachedState(second, after: nil).cost
    // Measured: 117 to 235 bytes for each collection.
    #expect((500 * 150..<500 * 250).contains(cost))
  }

  @Test("After any transactions, the costs by difference equal those of a full count", arguments: 0..<4)
  func differences(_ round: Int) {
    var random = SeededNumbers(seed: TestSeed.make(for: "Costs \(round)") &+ UInt64(round))
    // Two states with the same contents that share no memory.
    var (state, other) = (UserState(), UserState())
    var cached = CachedState(state, after: nil)
    for number in 1...300 {
      if random.once(in: 20) { cached = CachedState(other, after: nil) }
      let before = (state: state, other: other)
      for _ in 0...random.below(4) {
        let name = Suite.collection("\(random.below(12))")
        let key = "\(random.below(20))"
        let length = random.below(random.once(in: 8) ? 40_000 : 100)
        let mutation: MapMutation =
          switch random.below(10) {
          case 0: .cleared
          case 1...3: .removed(key: key)
          default: .set(key: key, value: EncodedJSON(.string(String(repeating: "v", count: length))))
          }
        let revision = Revision(number: number)
        _ = state.reduce([.map(mutation)], in: name, by: .plainMap, revision: revision)
        _ = other.reduce([.map(mutation)], in: name, by: .plainMap, revision: revision)
      }
      state.revision = Revision(number: number)
      other.revision = state.revision
      #expect(state.names(changedSince: before.state) != nil && state.names(changedSince: before.other) == nil)
      cached = CachedState(state, after: cached)
      let counted = CachedState(state, after: nil)
      #expect(cached.sums == counted.sums && cached.sums.cost == state.cost)
      // Without the versions, all collections are compared.
      var unknown = state
      unknown.collections = state.collections
      #expect(before.state.memory(notIn: state) == before.state.memory(notIn: unknown))
    }
  }

  @Test("A past state before a gap in the revisions is not kept")
  func gap() {
    var state = UserState()
    state.revision = 5
    let first = CachedState(state, after: nil)
    state.revision = 7
    #expect(CachedState(state, after: first).past(at: 5) == nil)
  }

  private static func question(_ text: String) -> ChangesFeed.Question {
    ChangesFeed.Question(registered: 0, modules: 0, text: text)
  }

  @Test("Long documents of the feed are not kept")
  func told() {
    let cached = CachedState(UserState(), after: nil)
    let cursor = Cursor(store: "s", revision: 0)
    for length in [10, 100_000] {
      let body = [UInt8](repeating: 0, count: length)
      cached.remember(
        ChangesFeed.Document(since: Revision.none, cursor: cursor, body: body, isEmpty: false),
        for: Self.question("\(length)")
      )
    }
    #expect(cached.document(for: Self.question("10")) != nil && cached.document(for: Self.question("100000")) == nil)
    for number in 0..<100 {
      cached.remember(
        ChangesFeed.Document(since: Revision.none, cursor: cursor, body: [], isEmpty: true),
        for: Self.question("q\(number)")
      )
    }
    #expect((1...4).contains((0..<100).count { cached.document(for: Self.question("q\($0)")) != nil }))
  }

  @Test("The texts of questions count too, so long ones do not use more memory than the state")
  func longQuestions() {
    let cached = successive(1, valueBytes: 64 * 1024)
    let name = String(repeating: "c", count: 8 * 1024)
    let questions = (0..<100).map { Self.question("\($0) \(name)") }
    let document = ChangesFeed.Document(
      since: Revision.none,
      cursor: Cursor(store: "s", revision: 0),
      body: [],
      isEmpty: true
    )
    for question in questions {
      cached.remember(document, for: question)
      #expect(cached.document(for: question) != nil)
    }
    #expect(questions.count { cached.document(for: $0) != nil } * name.utf8.count <= 64 * 1024)
  }

  // MARK: Representations

  private func made(_ revision: Revision) -> Representation {
    Representation(cursor: Cursor(store: "s", revision: revision), body: [])
  }

  @Test("The representation of a collection is kept until the collection or the registered defaults change")
  func rendered() {
    var state = Self.first
    let first = CachedState(state, after: nil)
    for name in [Self.standard, Self.other] { first.keep(made(1), of: name, registered: 7) }
    #expect(first.representation(of: Self.standard, registered: 7)?.cursor.revision == 1)
    #expect(first.representation(of: Self.standard, registered: 8) == nil)
    _ = state.reduce(Self.set, in: Self.other, by: .plainMap, revision: 2)
    let second = CachedState(state, after: first)
    #expect(second.representation(of: Self.standard, registered: 7)?.cursor.revision == 1)
    #expect(second.representation(of: Self.other, registered: 7) == nil)
    _ = state.reduce([.map(.cleared)], in: Self.standard, by: .plainMap, revision: 3)
    #expect(CachedState(state, after: second).representation(of: Self.standard, registered: 7) == nil)
  }

  @Test("Only representations whose memory was counted are kept")
  func uncounted() {
    let cached = CachedState(Self.first, after: nil)
    cached.keep(made(0), of: Self.other, registered: 0)
    #expect(cached.representation(of: Self.other, registered: 0) == nil)
    for (length, isKept) in [(3_000, false), (900, true)] {
      let body = [UInt8](repeating: 0, count: length)
      let long = Representation(cursor: Cursor(store: "s", revision: 1), body: body)
      cached.keep(long, of: Self.standard, registered: 0)
      #expect((cached.representation(of: Self.standard, registered: 0) != nil) == isKept)
    }
  }
}
