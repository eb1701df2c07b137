import LockstepJSON
import Testing

@testable import LockstepComposition
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport
@testable import LockstepStore

@Suite("An invalid module is refused before anything is opened", .timeLimit(.minutes(10)))
struct ModuleCheckTests {
  private static func scores(
    _ name: String = "scores",
    _ cases: [ActionCase<ScoresAction>] = [ActionCase("remove", .name("key")) { .remove(key: $0) }],
    _ verbs: [ElementVerb: VerbAction<ScoresAction>] = [:]
  ) -> UserModule {
    .map(name, actions: cases, verbs: verbs) { _ in ScoresReactor() }
  }

  private static func notes(_ verbs: [ElementVerb: VerbAction<NotesAction>]) -> UserModule {
    .list("notes", of: Note.self, actions: [ActionCase("clear") { .clear }], verbs: verbs) { NotesReactor(now: $0.now) }
  }

  private static let name = "its name must be a lower-case letter a-z, then up to 63 of the characters A-Z a-z 0-9 _ -"

  @Test(
    "A module must have a valid name",
    arguments: ["", "Scores", "1", "-a", "a/b", "a b", "é", String(repeating: "a", count: 65)]
  )
  func names(name: String) {
    #expect(throws: InvalidModuleError(name, Self.name)) { try ModuleCheck.check([Self.scores(name)]) }
  }

  @Test("A module cannot have the name of one of the product's routes", arguments: ModuleCheck.reserved.sorted())
  func reserved(name: String) {
    #expect(throws: InvalidModuleError(name, "Lockstep itself serves /v1/\(name). Choose another name.")) {
      try ModuleCheck.check([Self.scores(name)])
    }
  }

  @Test("The first part of every path under /v1 is reserved")
  func complete() async throws {
    try await ServerFixture.run({ $0.administratorToken = "t" }) { users in
      let services = try #require(users.running.withLock { $0?.services.users })
      let routes = services.routes(Configuration(), rates: nil)
      let first = routes.map { String($0.pattern.split(separator: "/")[1]) }
      // Administrators have the export of a user below /v1/admin/users/{id}.
      #expect(Set(first + ["reactors", "admin", "export"]) == ModuleCheck.reserved)
    }
  }

  @Test("Two modules cannot have the same name, and two actions cannot have the same type")
  func twice() {
    #expect(throws: InvalidModuleError("scores", "another module has the same name.")) {
      try ModuleCheck.check([.scores, .notes, .scores])
    }
    #expect(throws: InvalidModuleError("scores", "two of its actions have the same type.")) {
      try ModuleCheck.check([Self.scores("scores", [ActionCase("a") { .clear }, ActionCase("a") { .clear }])])
    }
  }

  @Test("A verb must stand for an existing action that accepts the payload of the verb")
  func verbs() {
    let wrong: [(UserModule, String)] = [
      (Self.scores(), ""),
      (
        Self.scores("scores", verbs: [.put: "set"]),
        "the verb put stands for the action “set”, which the module does not have."
      ),
      (
        Self.scores("scores", verbs: [.put: "remove"]),
        "the verb put stands for the action “remove”, whose payload has no member value."
      ),
      (Self.scores("scores", verbs: [.patch: "remove"]), "a value of a map has no members that could be patched."),
      (Self.scores("scores", verbs: [.move: "remove"]), "the values of a map have no order."),
      (
        Self.notes([.move: .unlisted(ActionCase("shift", .name("id")) { .remove(id: $0) })]),
        "the verb move stands for the action “shift”, whose payload has no member index."
      ),
      (
        Self.notes([.delete: "clear"]), "the verb delete stands for the action “clear”, whose payload has no member id."
      ),
    ]
    for (module, reason) in wrong {
      if reason.isEmpty {
        #expect(throws: Never.self) { try ModuleCheck.check([module]) }
      } else {
        #expect(throws: InvalidModuleError(module.name, reason)) { try ModuleCheck.check([module]) }
      }
    }
  }

  @Test("A repeated member of a state or of a payload is refused")
  func repetitions() {
    let remove = ActionCase("remove", .name("key"), .text("key")) { key, _ in ScoresAction.remove(key: key) }
    let payload = "the payload of its action “remove” has the member “/key” twice."
    let fields = ["a", "b", "a"].map { ObjectField($0, schema: [:]) }
    let wrong: [(UserModule, String)] = [
      (Self.scores("scores", [remove]), payload), (Self.scores("scores", [], [.delete: .unlisted(remove)]), payload),
      (
        .object("scores", members: fields, actions: [], patch: .unlisted(ActionCase("clear") { .clear })) { _ in
          ScoresReactor()
        }, "its state has the member “/a” twice."
      ),
    ]
    for (module, reason) in wrong {
      #expect(throws: InvalidModuleError(module.name, reason)) { try ModuleCheck.check([module]) }
    }
  }

  @Test("If a module is refused, the server makes no store")
  func nothingOpened() throws {
    let fixture = try StoreFixture()
    var configuration = Configuration()
    configuration.data = fixture.path
    #expect(throws: InvalidModuleError.self) {
      try Services.durable(configuration, modules: [Self.scores("me")], time: .system)
    }
    #expect(throws: (any Error).self) { try fixture.folder.contents(of: "lockstep.db") }
  }
}

extension ModuleCheckTests {
  private static func scores(_ name: String, verbs: [ElementVerb: VerbAction<ScoresAction>]) -> UserModule {
    scores(name, [ActionCase("remove", .name("key")) { .remove(key: $0) }], verbs)
  }
}
