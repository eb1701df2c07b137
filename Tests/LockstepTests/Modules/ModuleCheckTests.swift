import LockstepJSON
import LockstepMigrations
import Testing

@testable import Lockstep
@testable import LockstepAccounts
@testable import LockstepCollections
@testable import LockstepStore

@Suite("A module that can't be served is told of before anything is opened", .timeLimit(.minutes(10)))
struct ModuleCheckTests {
  private static func scores(
    _ name: String = "scores",
    _ cases: [ActionCase<ScoresAction>] = [ActionCase("remove", .name("key")) { .remove(key: $0) }],
    _ verbs: [ElementVerb: String] = [:]
  ) -> UserModule {
    .map(name, actions: cases, verbs: verbs) { _ in ScoresReactor() }
  }

  private static func notes(_ verbs: [ElementVerb: String]) -> UserModule {
    .list("notes", of: Note.self, actions: [ActionCase("clear") { .clear }], verbs: verbs) { NotesReactor(now: $0.now) }
  }

  private static let name = "its name must be a small letter, then up to 63 of the characters A-Z a-z 0-9 _ -"

  @Test("Names", arguments: ["", "Scores", "1", "-a", "a/b", "a b", "é", String(repeating: "a", count: 65)])
  func names(name: String) {
    #expect(throws: InvalidModuleError(name, Self.name)) { try ModuleCheck.check([Self.scores(name)]) }
  }

  @Test("Whatever has an address of its own is taken", arguments: ModuleCheck.reserved.sorted())
  func reserved(name: String) {
    #expect(throws: InvalidModuleError(name, "/v1/\(name) is the product's own. Take another name.")) {
      try ModuleCheck.check([Self.scores(name)])
    }
  }

  @Test("Every first part of an address under /v1 is reserved")
  func complete() async throws {
    try await ServerFixture.run({ $0.administratorToken = "t" }) { users in
      let routes = UserRoutes(
        users: try #require(users.running.withLock { $0?.services.users }),
        administratorToken: AdministratorToken("t"),
        longestWait: 1,
        time: users.time.serverTime
      ).routes
      let first = routes.map { String($0.pattern.split(separator: "/")[1]) }
      #expect(Set(first + ["reactors"]) == ModuleCheck.reserved)
    }
  }

  @Test("Two of a name, and two actions of a type")
  func twice() {
    #expect(throws: InvalidModuleError("scores", "there are two of that name.")) {
      try ModuleCheck.check([.scores, .notes, .scores])
    }
    #expect(throws: InvalidModuleError("scores", "two of its actions have one type.")) {
      try ModuleCheck.check([Self.scores("scores", [ActionCase("a") { .clear }, ActionCase("a") { .clear }])])
    }
  }

  @Test("Verbs whose action isn't there, or doesn't take what they say")
  func verbs() {
    let wrong: [(UserModule, String)] = [
      (Self.scores(), ""),
      (
        Self.scores("scores", verbs: [.put: "set"]),
        "the verb put stands for the action “set”, which it doesn't have."
      ),
      (
        Self.scores("scores", verbs: [.put: "remove"]),
        "the verb put stands for the action “remove”, whose payload has no member value."
      ),
      (Self.scores("scores", verbs: [.patch: "remove"]), "a value of a map has no members that could be patched."),
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

  @Test("Migrations that aren't numbered as they are to be")
  func migrations() {
    var module = Self.scores()
    module.storage = MisnumberedTable()
    #expect(throws: InvalidModuleError("scores", "its migrations must be numbered 1, 2, 3 …, and are 2.")) {
      try ModuleCheck.check([module])
    }
  }

  @Test("No store is made for a server that can't be")
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
  private static func scores(_ name: String, verbs: [ElementVerb: String]) -> UserModule {
    scores(name, [ActionCase("remove", .name("key")) { .remove(key: $0) }], verbs)
  }
}

/// A table whose migrations don't begin at 1.
private struct MisnumberedTable: CollectionTable {
  let module = "scores"
  let kind = CollectionMutation.Kind.map
  let migrations = [Migration(number: 2, name: "0002_x", sql: "")]

  func load(of user: UserID, from connection: SQLiteConnection) -> [CollectionName: CollectionState] { [:] }

  func write(_ edits: CollectionEdits, at location: MutationLocation, to connection: SQLiteConnection) {}
}
