import Foundation
import LockstepClient
import LockstepClientTesting
import LockstepReactor
import LockstepReactorTesting
import LockstepServerTesting
import Testing

// The Swift code of docs/swift-screens.md and docs/app-tests.md stands between the markers, so that it is compiled
// and run. A test below compares the two.

// guide swift-screens
struct HistoryForm: Decodable, Equatable, Sendable {
  var companyName = ""
  var position = ""
  var saveEnabled = false
  var isLoading = false
  var saved = 0
}

enum HistoryAction: ScreenAction {
  case setCompanyName(String)
  case setPosition(String)
  case save

  func encode(to encoder: any Encoder) throws {
    switch self {
    case .setCompanyName(let value): try ScreenActionBody("setCompanyName", ["value": value]).encode(to: encoder)
    case .setPosition(let value): try ScreenActionBody("setPosition", ["value": value]).encode(to: encoder)
    case .save: try ScreenActionBody("save").encode(to: encoder)
    }
  }
}
// end guide

// guide swift-screens
extension LockstepClient {
  func historyForm() -> RemoteScreen<HistoryAction, HistoryForm> {
    screen("workingHistory", initially: HistoryForm()) { last, new in
      last.companyName == new.companyName && last.position == new.position
        ? []
        : [.setCompanyName(last.companyName), .setPosition(last.position)]
    }
  }
}
// end guide

/// A view, as far as it can be compiled here.
// guide swift-screens
struct HistoryView<Model: ViewModel<HistoryAction, HistoryForm>> {
  let model: Model

  func type(company: String) { model.send(.setCompanyName(company)) }

  var title: String { model.currentState.companyName.isEmpty ? "Your work" : model.currentState.companyName }
}
// end guide

// guide app-tests
struct Counter: Reactor {
  struct State: Codable, Equatable, Sendable { var count = 0 }
  enum Action: String, ScreenAction, Decodable { case increase }

  let initialState = State()

  func mutate(_ action: Action, in state: State) -> Effect<Int> { .just(1) }
  static func reduce(_ state: inout State, _ step: Int) { state.count += step }
}

extension Counter.Action {
  private enum Keys: CodingKey { case type }

  init(from decoder: any Decoder) throws {
    _ = try decoder.container(keyedBy: Keys.self).decode(String.self, forKey: .type)
    self = .increase
  }

  func encode(to encoder: any Encoder) throws { try ScreenActionBody(rawValue).encode(to: encoder) }
}
// end guide

@Suite("The guides of screens and of tests in Swift apps", .timeLimit(.minutes(10)))
struct AppGuideTests {
  @Test("The same view works with a screen, and with a stub")
  func view() {
    let stub = StubReactor<HistoryAction, HistoryForm>(state: HistoryForm(companyName: "Aurora"))
    let view = HistoryView(model: stub)
    view.type(company: "Borealis")
    #expect(view.title == "Aurora" && stub.actions.count == 1)
  }

  @Test("A screen in memory that is lost")
  func fakeScreens() throws {
    // guide app-tests
    let clock = VirtualClock()
    let screens = FakeScreens(clock: clock)
    screens.add("counter") { _ in Counter() }
    let client = try LockstepClient(
      store: .memory,
      transport: screens,
      credentials: MemoryCredentials("token"),
      clock: clock
    )
    let counter = client.screen("counter", initially: Counter.State(), actions: Counter.Action.self)
    clock.start { await counter.run() }
    counter.send(.increase)
    clock.advance(by: .seconds(1))
    #expect(counter.currentState.count == 1)

    screens.endScreens()
    clock.advance(by: .seconds(1))
    #expect(counter.currentState.count == 0 && counter.status.openings == 2)
    // end guide
  }

  // guide app-tests
  @Test("A save fails at first")
  func save() throws {
    try ServerInProcess.run { server in
      server.upstream.respond(at: 120, with: .failure(.unreachable))
      server.upstream.respond(at: 230, with: .success)

      let form = try server.makeClient(for: "ada@example.com").historyForm()
      server.scheduler.run { await form.run() }
      server.scheduler.scheduleAt(50) {
        form.send(.setCompanyName("Aurora"))
        form.send(.setPosition("Chief"))
      }
      server.scheduler.scheduleAt(100) { form.send(.save) }
      server.scheduler.scheduleAt(200) { form.send(.save) }

      let rows = server.scheduler.observe(
        form.states.distinct { "\($0.isLoading ? "saving" : "idle"), saved \($0.saved)" },
        from: 0
      )
      server.scheduler.advance(to: 300)
      #expect(
        rows.events == [
          .next(0, "idle, saved 0"), .next(100, "saving, saved 0"), .next(120, "idle, saved 0"),
          .next(200, "saving, saved 0"), .next(230, "idle, saved 1"),
        ]
      )
    }
  }
  // end guide

  @Test("The code of the guides equals the code of this file", arguments: ["swift-screens", "app-tests"])
  func codeIsThisFile(name: String) throws {
    let file = URL(fileURLWithPath: #filePath)
    let root = file.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let guide = try String(contentsOf: root.appendingPathComponent("docs/\(name).md"), encoding: .utf8)
    let source = try String(contentsOf: file, encoding: .utf8)
    let inGuide = blocks(of: guide, from: "```swift", to: "```")
    let inSource = blocks(of: source, from: "// guide \(name)", to: "// end guide")
    #expect(!inGuide.isEmpty && inGuide.count == inSource.count)
    for (guide, source) in zip(inGuide, inSource) { #expect(guide == source) }
  }

  /// The lines between marker lines, without their common indentation.
  private func blocks(of text: String, from start: String, to end: String) -> [String] {
    var blocks: [String] = []
    var lines: [Substring]?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let marker = line.trimmingCharacters(in: .whitespaces)
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
