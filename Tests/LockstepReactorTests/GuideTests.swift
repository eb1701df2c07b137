import Foundation
import LockstepReactor
import LockstepReactorTesting
import Testing

// The Swift code of docs/reactor.md stands between the markers, so that it is compiled and run. A
// test below compares the two.

// guide
struct Search: Reactor {
  struct State: Sendable, Equatable {
    var query = ""
    var isSearching = false
    var photos: [String] = []
  }

  enum Action: Sendable {
    case type(String)
  }

  enum Mutation: Sendable {
    case query(String)
    case searching(Bool)
    case photos([String])
  }

  let find: @Sendable (String) async throws -> [String]
  let clock: any Clock<Duration>

  var initialState: State { State() }

  func mutate(_ action: Action, in state: State) -> Effect<Mutation> {
    switch action {
    case .type(let query):
      .concat(
        .just(.query(query)),
        .run { [find, clock] emit in
          try await clock.sleep(for: .milliseconds(300))
          try await emit(.searching(true))
          try await emit(.photos(find(query)))
        },
        .just(.searching(false))
      )
    }
  }

  static func reduce(_ state: inout State, _ mutation: Mutation) {
    switch mutation {
    case .query(let query): state.query = query
    case .searching(let isSearching): state.isSearching = isSearching
    case .photos(let photos): state.photos = photos
    }
  }

  func policy(for action: Action) -> EffectPolicy {
    .latest("search")
  }
}
// end guide

@Suite("The guide, docs/reactor.md", .timeLimit(.minutes(10)))
struct GuideTests {
  @Test("Hosting")
  func hosting() async throws {
    // guide
    let host = ReactorHost(Search(find: { ["photo of \($0)"] }, clock: ContinuousClock()))
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await host.run() }
      group.addTask {
        for await photos in host.states.distinct(\.photos) { print("shows \(photos.count) photos") }
      }
      host.send(.type("aurora"))
      // … until the screen goes away:
      host.close()
    }
    // end guide
    #expect(host.send(.type("late")) == .closed)
  }

  @Test("A receipt")
  func receipt() {
    let scheduler = TestScheduler()
    let host = ReactorHost(Search(find: { ["photo of \($0)"] }, clock: scheduler.clock))
    let seen = scheduler.createObserver(Search.State.self)
    scheduler.run { await host.run() }
    scheduler.scheduleAt(1) {
      do {
        // guide
        let receipt = try host.submit(.type("aurora"))
        let soon = try await receipt.reduced()  // the immediate mutations: query is "aurora"
        let late = try await receipt.settled()  // the whole effect: photos are there
        // end guide
        seen.next(soon)
        seen.next(late)
      } catch {
        Issue.record(error)
      }
    }
    scheduler.start()
    #expect(
      seen.elements == [
        Search.State(query: "aurora"), Search.State(query: "aurora", photos: ["photo of aurora"]),
      ]
    )
  }

  // guide
  @Test("Typing searches after a pause, and only for the last word typed")
  func searchesForTheLastWord() {
    let clock = VirtualClock()
    let search = Search(find: { ["photo of \($0)"] }, clock: clock)
    let test = TestReactor(search, clock: clock)

    test.send(.type("aur")) { $0.query = "aur" }
    test.advance(by: .milliseconds(200))
    test.send(.type("aurora")) { $0.query = "aurora" }
    test.advance(by: .milliseconds(299))
    test.advance(by: .milliseconds(1))
    test.receive(
      { $0.isSearching = true },
      { $0.photos = ["photo of aurora"] },
      { $0.isSearching = false }
    )
    test.finish()
  }
  // end guide

  // guide
  @Test("States, as a table")
  func statesAsATable() {
    let scheduler = TestScheduler(tick: .milliseconds(100))
    let host = ReactorHost(Search(find: { ["photo of \($0)"] }, clock: scheduler.clock))
    scheduler.run { await host.run() }
    for (time, text) in [(210, "a"), (211, "au"), (220, "aurora")] {
      scheduler.scheduleAt(time) { host.send(.type(text)) }
    }
    let photos = scheduler.observe(host.states.distinct(\.photos))
    scheduler.start()
    #expect(
      photos.events == [
        .next(200, []), .next(214, ["photo of au"]), .next(223, ["photo of aurora"]),
        .completed(1000),
      ]
    )
  }
  // end guide

  // guide
  struct Favorites: Reactor {
    typealias Action = [String]
    let announced: DispatchSubject<[String]>
    var initialState: [String] { [] }

    func transform(mutation: Flow<[String]>) -> Flow<[String]> {
      mutation.merging(announced.events(capacity: 1_000))
    }

    static func reduce(_ state: inout [String], _ mutation: [String]) {
      state = mutation
    }
  }
  // end guide

  @Test("Merging")
  func merging() {
    let scheduler = TestScheduler()
    let announced = DispatchSubject<[String]>()
    let world = World(scheduler, Favorites(announced: announced))
    scheduler.scheduleAt(100) { announced.dispatch(["aurora"]) }
    scheduler.start()
    #expect(world.host.currentState == ["aurora"])
  }

  @Test("A step without a host")
  func withoutAHost() throws {
    let journal: [Search.Mutation] = [.query("aurora"), .photos(["1"])]
    // guide
    let state = Search.replay(journal, from: Search.State())
    // end guide
    #expect(state.photos == ["1"])
  }

  @Test("Retrying")
  func retrying() async throws {
    let scheduler = TestScheduler()
    let prompt = ScriptedPrompt(scheduler, record: scheduler.createObserver(), answers: [])
    let save: @Sendable () async throws -> String = { "saved" }
    let activity = ActivityIndicator()
    // guide
    let saved = try await activity.track {
      try await retryWhenConfirmed(prompt) { try await save() }
    }
    // end guide
    #expect(saved == "saved")
  }

  @Test("Changesets")
  func changesets() throws {
    // guide
    struct Photo: Identifiable, Equatable, Sendable {
      let id: Int
      var title = ""
    }

    let old = [Photo(id: 1), Photo(id: 2), Photo(id: 3)]
    let new = [Photo(id: 3), Photo(id: 1, title: "Aurora")]
    let changes = try ListChangeset(from: old, to: new)
    #expect(changes.deletions == [.init(index: 1, id: 2)])
    #expect(changes.moves == [.init(from: 2, to: 0, id: 3)])
    #expect(changes.modifications == [.init(index: 0, newIndex: 1, element: new[1])])
    #expect(try changes.apply(to: old) == new)
    // end guide
  }

  // guide
  /// A heart rate, not the library's property wrapper.
  struct Pulse: Equatable {
    var beatsPerMinute = 60
  }

  struct Monitor: Equatable {
    var pulse = Pulse()
    @LockstepReactor.Pulse var alarm: String?
  }
  // end guide

  @Test("Own types with the names of the module's types")
  func hiddenNames() {
    var monitor = Monitor()
    let before = monitor
    monitor.alarm = nil
    #expect(monitor != before && monitor.pulse == before.pulse)
  }

  @Test("The code of the guide equals the code of this file")
  func codeIsThisFile() throws {
    let file = URL(fileURLWithPath: #filePath)
    let root = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let guide = try String(contentsOf: root.appendingPathComponent("docs/reactor.md"), encoding: .utf8)
    let source = try String(contentsOf: file, encoding: .utf8)
    let inGuide = blocks(of: guide, from: "```swift", to: "```")
    let inSource = blocks(of: source, from: "// guide", to: "// end guide")
    #expect(inGuide.count == inSource.count)
    for (guide, source) in zip(inGuide, inSource) { #expect(guide == source) }
  }

  /// The lines between marker lines, without their common indentation.
  private func blocks(of text: String, from start: String, to end: String) -> [String] {
    var blocks: [String] = []
    var lines: [Substring]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let marker = line.trimmingWhitespace()
      if marker == start {
        lines = []
      } else if marker == end, let finished = lines {
        blocks.append(withoutCommonIndentation(finished))
        lines = nil
      } else {
        lines?.append(line)
      }
    }
    return blocks
  }

  private func withoutCommonIndentation(_ lines: [Substring]) -> String {
    let indentations = lines.filter { !$0.isEmpty }.map { $0.prefix { $0 == " " }.count }
    return lines.map { $0.dropFirst(indentations.min() ?? 0) }.joined(separator: "\n")
  }
}
