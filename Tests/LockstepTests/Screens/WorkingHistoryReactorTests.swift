import LockstepJSON
import LockstepReactor
import LockstepReactorTesting
import Testing

@testable import LockstepCollections
@testable import LockstepScreens

@Suite("The working history screen", .timeLimit(.minutes(10)))
struct WorkingHistoryReactorTests {
  private typealias Input = WorkingHistoryReactor.Input

  /// A form with stub services, in virtual time.
  private struct World {
    let states: StubUserStates
    let upstream: StubUpstream
    let test: TestReactor<WorkingHistoryReactor>

    init(company: String? = nil, position: String? = nil, failing failures: [UpstreamError.Kind] = []) {
      let clock = VirtualClock()
      var snapshot = UserSnapshot.Contents()
      snapshot.profile.set(company, position)
      states = StubUserStates(snapshot)
      upstream = StubUpstream(clock, failing: failures)
      test = TestReactor(WorkingHistoryReactor(user: states.user, upstream: upstream), clock: clock)
    }

    /// Types into both fields.
    func type(_ company: String, _ position: String) {
      test.send(.setCompanyName(company)) { $0.companyName.text = company }
      test.send(.setPosition(position)) { $0.position.text = position }
    }
  }

  /// Texts, and the results of their validation.
  private static let validations: [(String, ValidationResult)] = [
    ("", .empty), (" \t ", .empty), ("Aurora", .ok), ("  Aurora \n", .ok), (String(repeating: "é", count: 200), .ok),
    (" " + String(repeating: "x", count: 200) + " ", .ok),
    (String(repeating: "x", count: 201), .failed(message: "It must have at most 200 characters, and has 201.")),
  ]

  @Test("A field shows the typed text, and is validated without white space at its ends", arguments: validations)
  func validates(text: String, expected: ValidationResult) {
    let world = World(company: "Borealis", position: "Chief")
    world.test.send(.setPosition(text)) { $0.position.text = text }
    #expect(world.test.state.position.validation == expected)
    #expect(world.test.state.saveEnabled == (expected == .ok))
    if expected != .ok {
      world.test.send(.save)
      world.test.receiveFailure("a conflict") { if case .conflict? = $0 as? Refusal { true } else { false } }
    }
    #expect(world.upstream.sent == [])
    world.test.finish()
  }

  @Test("A field follows the profile until the user types in it, and again after it is saved")
  func follows() {
    let world = World(company: "Aurora")
    #expect(world.test.state.companyName.text == "Aurora")
    world.states.announce { $0.profile.set("Borealis", "Chief") }
    world.test.receive { state in
      state.companyName.text = "Borealis"
      state.position.text = "Chief"
    }
    world.test.send(.setCompanyName(" Mine ")) { $0.companyName.text = " Mine " }
    world.states.announce { $0.profile.set("Theirs", "Captain") }
    world.test.receive { $0.position.text = "Captain" }
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.saved = 1
      state.companyName.text = "Mine"
    }
    world.states.announce { $0.profile.set("Theirs", nil) }
    world.test.receive { state in
      state.companyName.text = "Theirs"
      state.position.text = ""
    }
    world.test.finish()
  }

  @Test("Saving sends to the upstream and then changes the profile, and text that is typed meanwhile stays")
  func saves() {
    let world = World()
    world.type(" Aurora ", "Chief")
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(1))
    world.test.send(.setPosition("Captain")) { $0.position.text = "Captain" }
    #expect(world.states.changes == [])
    world.test.advance(by: .seconds(1))
    world.test.receive { state in
      state.isLoading = false
      state.saved = 1
      state.companyName.text = "Aurora"
    }
    #expect(world.upstream.sent == ["Aurora, Chief"])
    #expect(world.states.changes == [.init(saved: ["companyName": "Aurora", "position": "Chief"])])
    world.test.finish()
  }

  @Test("The newest save wins: an older one shows nothing, saves nothing and has no prompt")
  func newest() {
    let world = World(failing: [.timedOut, .unreachable])
    world.type("A", "B")
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(1))
    world.test.send(.setPosition("C")) { $0.position.text = "C" }
    world.test.send(.save)
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.prompt = .init(id: "2.1", message: "The service that keeps profiles cannot be reached.")
    }
    world.test.send(.save) { state in
      state.isLoading = true
      state.prompt = nil
    }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.saved = 1
    }
    #expect(world.upstream.sent == ["A, B", "A, C", "A, C"])
    #expect(world.states.changes == [.init(saved: ["companyName": "A", "position": "C"])])
    world.test.finish()
  }

  @Test("A failed save asks the user until the user cancels, and an answer to another prompt is a conflict")
  func prompts() {
    let world = World(failing: [.unreachable, .failed(status: 500), .refused(status: 422)])
    world.type("A", "B")
    world.test.send(.save) { $0.isLoading = true }
    let messages = [
      "The service that keeps profiles cannot be reached.", "The service that keeps profiles has a problem.",
      "The service that keeps profiles does not accept this profile.",
    ]
    for (index, message) in messages.enumerated() {
      world.test.send(.answer(prompt: "1.\(index)", choice: "retry"))
      world.test.receiveFailure("a conflict") { if case .conflict? = $0 as? Refusal { true } else { false } }
      world.test.advance(by: .seconds(2))
      world.test.receive { state in
        state.isLoading = false
        state.prompt = .init(id: "1.\(index + 1)", message: message)
      }
      world.test.send(.answer(prompt: "1.\(index + 1)", choice: "maybe"))
      world.test.receiveFailure("an unknown choice") { error in
        error as? Refusal == .invalid("/choice", "It must be one of retry, cancel.")
      }
      let isLast = index == messages.count - 1
      world.test.send(.answer(prompt: "1.\(index + 1)", choice: isLast ? "cancel" : "retry")) { state in
        state.isLoading = !isLast
        state.prompt = nil
      }
    }
    world.test.advance(by: .seconds(60))
    #expect(world.upstream.sent.count == 3)
    #expect(world.states.changes == [])
    world.test.finish()
  }

  @Test("If the profile cannot be stored after the upstream has accepted it, the user is asked too")
  func notStored() {
    let world = World()
    world.states.fail(with: .refused(.quotaExceeded("It's full.")))
    world.type("A", "B")
    world.test.send(.save) { $0.isLoading = true }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.prompt = .init(id: "1.1", message: "It's full.")
    }
    world.states.fail(with: nil)
    world.test.send(.answer(prompt: "1.1", choice: "retry")) { state in
      state.isLoading = true
      state.prompt = nil
    }
    world.test.advance(by: .seconds(2))
    world.test.receive { state in
      state.isLoading = false
      state.saved = 1
    }
    world.test.finish()
  }
}

extension MapState {
  /// Sets or removes the fields of a profile.
  fileprivate mutating func set(_ company: String?, _ position: String?) {
    for (name, text) in [("companyName", company), ("position", position)] {
      apply(text.map { .set(key: name, value: EncodedJSON(.string($0))) } ?? .removed(key: name))
    }
  }
}
