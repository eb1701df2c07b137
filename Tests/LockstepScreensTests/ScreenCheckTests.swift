import LockstepJSON
import LockstepReactor
import Testing

@testable import LockstepBuiltInScreens
@testable import LockstepComposition
@testable import LockstepCollections
@testable import LockstepScreens
@testable import LockstepServerTestSupport
@testable import LockstepStateTestSupport

@Suite("Invalid screens are refused when the server starts", .timeLimit(.minutes(10)))
struct ScreenCheckTests {
  private static func screen(
    _ name: String,
    follows: [String] = [],
    followsDeclared: [String] = [],
    types: [String] = ["add"]
  ) -> ScreenDeclaration {
    .user(
      name,
      follows: follows,
      followsDeclared: followsDeclared,
      actions: types.map { ActionCase($0) { 1 } },
      state: .count
    ) { _, _ in Counter() }
  }

  private static func check(_ screens: ScreenDeclaration...) throws(InvalidScreenError) {
    try ScreenCheck.check(screens, modules: [])
  }

  @Test("A built-in screen's name is refused, and so is a module's name", arguments: BuiltInScreens.names.sorted())
  func taken(name: String) throws {
    #expect(throws: InvalidScreenError(name, "Lockstep itself has a screen with this name. Choose another name.")) {
      try Self.check(Self.screen(name))
    }
    #expect(throws: InvalidScreenError("favorites", "a module has the same name. Choose another name.")) {
      try Self.check(Self.screen("favorites"))
    }
    #expect("\(InvalidScreenError(name, "x"))" == "The screen “\(name)” cannot be served: x")
  }

  @Test("Names are plain, and two screens do not share one", arguments: ["", "A", "1a", "a b", "ä", "a/b"])
  func names(name: String) throws {
    let plain = "its name must be a lower-case letter a-z, then up to 63 of the characters A-Z a-z 0-9 _ -"
    #expect(throws: InvalidScreenError(name, plain)) { try Self.check(Self.screen(name)) }
    #expect(throws: InvalidScreenError("a", "another screen has the same name.")) {
      try Self.check(Self.screen("a"), Self.screen("b"), Self.screen("a"))
    }
    #expect(throws: InvalidScreenError("a", "two of its actions have the same type.")) {
      try Self.check(Self.screen("a", types: ["x", "y", "x"]))
    }
    try Self.check(Self.screen("a"), Self.screen("aB-_9"))
  }

  /// States with a repeated member, and its JSON Pointer.
  private static let repetitions: [(state: ValueFormat<Int>, pointer: String)] = [
    (ValueFormat(.member("a", .count) { $0 }, .member("b", .count) { $0 }, .optional("a", .text) { "\($0)" }), "/a"),
    (ValueFormat(.member("a", twice) { $0 }), "/a/x~1y"),
    (ValueFormat(.optional("a", twice.readOnly) { $0 }), "/a/x~1y"),
    (ValueFormat(.member("b", .count) { $0 }, .member("a", .list(of: .list(of: twice))) { [[$0]] }), "/a/x~1y"),
    (ValueFormat(.pulse("a", twice) { Pulse(wrappedValue: $0) }), "/a/x~1y"),
    (ValueFormat(.pulse("a", ValueFormat(.member("id", .count) { $0 })) { Pulse(wrappedValue: $0) }), "/a/id"),
  ]
  private static let twice = ValueFormat<Int>(.member("x/y", .count) { $0 }, .member("x/y", .count) { $0 + 1 })

  @Test("A state with a repeated member is refused, and no such object is ever made", arguments: repetitions)
  func repetition(state: ValueFormat<Int>, pointer: String) throws {
    let screen = ScreenDeclaration.anonymous("a", actions: [ActionCase("add") { 1 }], state: state) { _ in Counter() }
    #expect(throws: InvalidScreenError("a", "its state has the member “\(pointer)” twice.")) { try Self.check(screen) }
    #expect(try JSON(parsing: state.encode(1).encoded()) == state.encode(1))
    #expect(state.encode(1).objectValue?.count == state.schema["properties"]?.objectValue?.count)
  }

  @Test("Two arguments, or two fields of an action, cannot have the same name")
  func repeatedFields() {
    let add = ActionCase("add", .index("by"), .index("by")) { $0 + $1 }
    #expect(throws: InvalidScreenError("a", "the payload of its action “add” has the member “/by” twice.")) {
      try Self.check(.user("a", actions: [add], state: .count) { _, _ in Counter() })
    }
    #expect(throws: InvalidScreenError("a", "it has the argument “id” twice.")) {
      try Self.check(
        .user("a", .name("id"), .flag("b"), .name("id"), actions: [ActionCase("add") { 1 }], state: .count) {
          _,
          _,
          _,
          _,
          _ in Counter()
        }
      )
    }
  }

  @Test("Canonically equivalent names are different members, as everywhere in JSON")
  func equivalentNames() throws {
    let names = ["caf\u{E9}", "cafe\u{301}"]
    let state = ValueFormat<Int>(.member(names[0], .count) { $0 }, .member(names[1], .count) { $0 + 1 })
    let add = ActionCase("add", .index(names[0]), .index(names[1])) { $0 + $1 }
    try Self.check(.anonymous("a", actions: [add], state: state) { _ in Counter() })
    #expect(state.encode(1).encoded() == Array("{\"\(names[0])\":1,\"\(names[1])\":2}".utf8))
  }

  @Test(
    "A screen can follow collections that exist only",
    arguments: ["shopping", "defaults", "profile/x", "defaults/"]
  )
  func follows(name: String) throws {
    let reason =
      "it follows “\(name)”, and there is no such collection. Name a module, such as favorites, or a suite, such as "
      + "defaults/standard. Name a collection that is declared without code in followsDeclared."
    #expect(throws: InvalidScreenError("a", reason)) { try Self.check(Self.screen("a", follows: ["favorites", name])) }
    try Self.check(Self.screen("a", follows: ["favorites", "profile", "defaults/standard", "defaults/game"]))
  }

  @Test("A screen can follow a collection that an administrator may declare, but no module under this name")
  func followsDeclared() throws {
    try Self.check(Self.screen("a", follows: ["favorites"], followsDeclared: ["playlist", "shopping"]))
    let module = "it follows “favorites” as a declared collection, but it is a module. Name it in follows."
    #expect(throws: InvalidScreenError("a", module)) {
      try Self.check(Self.screen("a", followsDeclared: ["favorites"]))
    }
    let wrong =
      "it follows “play-list”, which cannot be the name of a declared collection. A name is a lower-case letter a-z, "
      + "then up to 63 of the characters A-Z a-z 0-9."
    #expect(throws: InvalidScreenError("a", wrong)) { try Self.check(Self.screen("a", followsDeclared: ["play-list"])) }
  }

  @Test("The server checks its screens before it opens the store")
  func services() throws {
    #expect(throws: InvalidScreenError.self) {
      try Services.durable(Configuration(), screens: [Self.screen("login")], time: .system)
    }
  }
}

/// Adds up its actions.
private struct Counter: Reactor {
  var initialState: Int { 0 }

  static func reduce(_ state: inout Int, _ mutation: Int) { state += mutation }
}
